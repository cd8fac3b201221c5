package checker

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// settle judges the batches that came since the last look, now that all is known that belongs to them.
func (w *Watcher) settle(ctx context.Context) error {
	if w.reject != nil {
		w.settleRejected()
	}
	if w.main.ledger == nil || w.main.ledger.log.state == nil {
		return nil
	}
	l := w.main.ledger
	w.learnEnds()
	for _, id := range w.main.fresh {
		if err := w.settleBatch(id, l.facts[id]); err != nil {
			return err
		}
		l.facts[id].ids = nil // judged: total has them
		w.settled = max(w.settled, id)
	}
	w.main.fresh = nil
	if b := w.main.books; b != nil && b.blind != "" {
		return w.settleWhole(ctx, b)
	}
	return nil
}

// learnEnds collects where batches end, and how many records they cover.
func (w *Watcher) learnEnds() {
	entries, origins := map[int64]*entry{}, map[int]origin(nil)
	if l := w.main.ledger; l != nil {
		for id, f := range l.facts {
			if f.entry != nil {
				entries[id] = f.entry
			}
		}
	}
	if w.query != nil {
		origins = w.query.origins
		for id, o := range w.query.offsets {
			if o.entry != nil && entries[id] == nil {
				entries[id] = o.entry
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		if _, ok := w.inputs[id]; ok {
			continue
		}
		w.ends[id] = entries[id].ends
		from, known := w.beginning(id)
		if !known {
			w.inputs[id] = -1
			continue
		}
		var faults []string
		w.inputs[id], faults = span(from, entries[id], origins)
		w.report.checked(Ranges, 1)
		for _, f := range faults {
			w.report.broken(Ranges, fmt.Sprintf("batch %d", id), "%s", f)
		}
	}
}

// beginning is where a batch begins; nil is the beginning of the input.
func (w *Watcher) beginning(id int64) (from []string, known bool) {
	if id == 0 {
		return nil, true
	}
	from, known = w.ends[id-1]
	return from, known
}

// settleBatch holds a batch in the table against the model.
func (w *Watcher) settleBatch(id int64, f *fact) error {
	if w.in.Model == nil {
		return nil
	}
	r, where := w.report, w.main.ledger.log.at(f.version)
	to, ok := w.ends[id]
	from, known := w.beginning(id)
	if !ok || !known {
		r.notice("batch %d is not held against the model: neither log nor checkpoint tells where it begins and ends", id)
		return nil
	}
	e, err := w.in.Model(from, to)
	if err != nil {
		return fmt.Errorf("checker: model of batch %d: %w", id, err)
	}
	rows := f.source
	switch {
	case f.known:
		w.main.books.judge(where, f.ids, e.Out, r)
		rows = int64(len(f.ids)) + f.source - f.added
	case f.replaces:
		if err := w.settleReplaced(id, where, to); err != nil {
			return err
		}
	case rows >= 0:
		r.checked(Count, 1)
		if f.added != int64(len(e.Out)) {
			r.broken(Count, where, "batch %d has %d rows, the model %d", id, f.added, len(e.Out))
		}
	}
	rejected := int64(len(e.Rejected))
	if w.reject != nil {
		rejected = w.judgeRejected(id, f, e.Rejected)
	}
	if rows >= 0 && rejected >= 0 {
		r.checked(Count, 1)
		if e.In != rows+e.Filtered+rejected {
			r.broken(Count, where, "batch %d: %d rows of the source, but %d in the table + %d filtered + %d rejected", id, e.In, rows, e.Filtered, rejected)
		}
	}
	return nil
}

// settleReplaced holds the table against the model after a batch that replaces rows: all of it, if it is the newest batch.
func (w *Watcher) settleReplaced(id int64, where string, to []string) error {
	b := w.main.books
	if b == nil || b.blind != "" || b.foreign || id != w.main.ledger.newest() || len(w.main.ledger.lost) > 0 {
		return nil
	}
	e, err := w.in.Model(nil, to)
	if err != nil {
		return fmt.Errorf("checker: model up to batch %d: %w", id, err)
	}
	b.judge(where, b.rows(), e.Out, w.report)
	return nil
}

// judgeRejected verifies rule 14 for one batch. It returns the number of its rejected rows, -1 if that is not known.
func (w *Watcher) judgeRejected(id int64, main *fact, want []string) int64 {
	r, l := w.report, w.reject.ledger
	where := fmt.Sprintf("%sbatch %d", w.reject.label, id)
	var f *fact
	if l != nil {
		f = l.facts[id]
	}
	switch {
	case f == nil && l != nil && l.log.base >= 0:
		r.notice("%s is not verified: the table's log begins at version %d", where, l.log.base)
		return -1
	case f == nil:
		r.checked(Rejected, 1)
		if len(want) > 0 {
			r.broken(Rejected, where, "%d rejected rows are missing", len(want))
		}
		return 0
	case !f.known:
		return f.rows
	}
	r.checked(Rejected, max(1, len(want)))
	if f.digest != "" && main.digest != "" && f.digest != main.digest {
		r.broken(Rejected, where, "its digest is not that of the batch in the table")
	}
	diff := map[string]int{}
	count(diff, f.ids, 1)
	count(diff, want, -1)
	lost, more := differences(diff)
	if len(lost) > 0 {
		r.broken(Rejected, where, "rejected rows are missing: %s", some(lost))
	}
	if len(more) > 0 {
		r.broken(Rejected, where, "rows are there that were not rejected, or more than once: %s", some(more))
	}
	n := int64(len(f.ids))
	f.ids = nil
	return n
}

// settleRejected verifies the place of rejected rows in time: they come before their batch, and not before it is fixed.
func (w *Watcher) settleRejected() {
	l := w.reject.ledger
	if l == nil {
		return
	}
	for _, id := range w.reject.fresh {
		w.report.checked(Rejected, 1)
		if id <= w.settled {
			w.report.broken(Rejected, l.log.at(l.facts[id].version), "rejected rows of batch %d come after the batch", id)
		}
	}
	w.reject.fresh = nil
	fixed := int64(-1)
	if w.query != nil {
		fixed = w.query.last()
	} else if w.main.ledger != nil {
		fixed = w.main.ledger.newest() + 1
	}
	if newest := l.newest(); newest > fixed {
		w.report.broken(Rejected, l.log.at(l.log.state.version), "the table holds rejected rows of batch %d, which is not fixed", newest)
	}
}

// settleWhole holds the table as a whole against the model, after versions that could not be followed.
func (w *Watcher) settleWhole(ctx context.Context, b *books) error {
	reason, r := b.blind, w.report
	ok, err := b.recount(ctx, r)
	if err != nil {
		return err
	}
	newest := w.main.ledger.newest()
	to, known := w.ends[newest]
	switch {
	case !ok:
		r.notice("rows are not told apart: %s", b.blind)
	case w.in.Model == nil:
	case b.foreign || !known || len(w.main.ledger.lost) > 0:
		r.notice("the rows of version %d are not held against the model: %s", b.log.state.version, reason)
	default:
		e, err := w.in.Model(nil, to)
		if err != nil {
			return fmt.Errorf("checker: model up to batch %d: %w", newest, err)
		}
		b.judge(b.log.at(b.log.state.version), b.rows(), e.Out, r)
	}
	return nil
}
