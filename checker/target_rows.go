package checker

import (
	"fmt"
	"maps"
	"slices"
)

// settle holds rows and rejected rows against the model. held is the newest batch that has to be there whole.
func (t *TargetWatcher) settle(held int64, s seen) error {
	if err := t.settleRejected(held, s.before.Keeps); err != nil || !s.counted {
		return err
	}
	t.log.report.Rows = int64(len(s.rows))
	most := s.after.Batch
	if !s.after.Keeps {
		most = t.log.query.last()
	}
	return t.judgeRows(s.rows, held, most)
}

// settleRejected verifies the rejected rows of the batches that have come: they come before their batch.
func (t *TargetWatcher) settleRejected(held int64, keeps bool) error {
	w := t.log
	if w.reject == nil {
		return nil
	}
	w.settleRejected()
	if !keeps && t.atMostOnce[held] {
		held-- // it is recorded, and its rejected rows may be about to come
	}
	for ; w.settled < held; w.settled++ {
		id := w.settled + 1
		from, known := w.beginning(id)
		to, ok := w.ends[id]
		if w.in.Model == nil || !known || !ok || t.atMostOnce[id] && !w.hasRejected(id) {
			continue // nothing to compare with, purged, or lost
		}
		e, err := w.in.Model(from, to)
		if err != nil {
			return fmt.Errorf("checker: model of batch %d: %w", id, err)
		}
		w.judgeRejected(id, &fact{}, e.Rejected)
	}
	return nil
}

// hasRejected reports whether the table of rejected rows holds a batch.
func (w *Watcher) hasRejected(id int64) bool {
	return w.reject.ledger != nil && w.reject.ledger.facts[id] != nil
}

// judgeRows verifies rules 9 to 11: the rows hold at least what the batches up to one make, and at most what those up to another make.
func (t *TargetWatcher) judgeRows(rows []string, least, most int64) error {
	r := t.log.report
	if t.in.Keyed && (least != most || len(t.atMostOnce) > 0) {
		r.notice("rows were not held against the model while batches that replace rows were under way, or may be lost")
		return nil
	}
	want, known, err := t.upTo(least)
	if err != nil || !known {
		return err
	}
	may := want
	if most != least {
		if may, known, err = t.upTo(most); err != nil || !known {
			return err
		}
	}
	r.checked(Loss, len(want))
	r.checked(Duplicate, len(rows))
	r.checked(Phantom, len(rows))
	diff := map[string]int{}
	count(diff, rows, 1)
	count(diff, want, -1)
	missing, _ := differences(diff)
	if missing, err = t.forgive(missing, least); err != nil {
		return err
	}
	count(diff, want, 1)
	count(diff, may, -1)
	_, more := differences(diff)
	var twice, phantoms []string
	for _, id := range more {
		switch {
		case !t.known[id]:
			phantoms = append(phantoms, id)
		case !t.in.Twice || t.in.Keyed:
			twice = append(twice, id)
		}
	}
	where := "the rows of " + upTo(most)
	t.tell(Loss, where, "rows are missing", missing)
	t.tell(Duplicate, where, "rows are there more than once", twice)
	t.tell(Phantom, where, "rows are there that the input does not have", phantoms)
	return nil
}

// upTo are the rows that the batches up to one come to. known is false if the checkpoint does not tell where it ends.
func (t *TargetWatcher) upTo(batch int64) (ids []string, known bool, err error) {
	if batch < 0 {
		return nil, true, nil
	}
	to, known := t.log.ends[batch]
	if !known {
		t.log.report.notice("the rows of %s are not held against the model: the checkpoint does not tell where they end", upTo(batch))
		return nil, false, nil
	}
	e, err := t.in.Model(nil, to)
	if err != nil {
		return nil, false, fmt.Errorf("checker: model up to batch %d: %w", batch, err)
	}
	for _, id := range e.Out {
		t.known[id] = true
	}
	return e.Out, true, nil
}

// tell reports the ids that were not reported before.
func (t *TargetWatcher) tell(rule Rule, where, what string, ids []string) {
	ids = slices.DeleteFunc(ids, func(id string) bool { _, was := slices.BinarySearch(t.told[rule], id); return was })
	if len(ids) == 0 {
		return
	}
	t.log.report.broken(rule, where, "%s: %s", what, some(ids))
	t.told[rule] = append(t.told[rule], ids...)
	slices.Sort(t.told[rule])
}

// forgive leaves of the missing rows those that at most once does not allow to be missing: it may lose batches whole, and where the target keeps no batches in part.
func (t *TargetWatcher) forgive(missing []string, held int64) ([]string, error) {
	if len(t.atMostOnce) == 0 || len(missing) == 0 {
		return missing, nil
	}
	gone := map[string]bool{}
	for _, id := range missing {
		gone[id] = true
	}
	for _, batch := range slices.Sorted(maps.Keys(t.atMostOnce)) {
		from, known := t.log.beginning(batch)
		to, ok := t.log.ends[batch]
		switch {
		case batch > held:
			continue
		case !ok:
			continue
		case !known: // the entries before are purged: whether they were of at most once is not known
			t.log.report.notice("rows of batches up to %d that are missing are not counted: the checkpoint no longer has their entries", batch)
			from = nil
		}
		e, err := t.log.in.Model(from, to)
		if err != nil {
			return nil, fmt.Errorf("checker: model of batch %d: %w", batch, err)
		}
		absent := 0
		for _, id := range e.Out {
			if gone[id] {
				absent++
			}
		}
		whole := absent == len(e.Out)
		if known && whole && absent > 0 {
			t.lost[batch] = true
		}
		if whole || !known || !t.last.Keeps {
			for _, id := range e.Out {
				delete(gone, id)
			}
		}
	}
	return slices.Sorted(maps.Keys(gone)), nil
}
