package checker

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"microbatch/objstore"
)

// compare verifies that table and checkpoint tell the same. recorded was listed before the table was read, all else of the checkpoint after it.
func (w *Watcher) compare(recorded map[int64]objstore.Info) {
	r, q := w.report, w.query
	newest := int64(-1)
	if w.main.ledger != nil {
		newest = w.main.ledger.newest()
	}
	w.compareRecorded(slices.DeleteFunc(slices.Sorted(maps.Keys(recorded)), func(id int64) bool { return id <= q.low }), newest)
	if last := q.last(); newest > last {
		r.broken(IDs, fmt.Sprintf("offsets/%d", newest), "the table holds batch %d, which the checkpoint does not have: it holds %s", newest, upTo(last))
	}
	if w.main.ledger != nil {
		w.main.ledger.judgeHoles(q.offsets, r)
	}
	w.compareSides()
}

// compareSides notes what is recorded, and verifies that each table has the checkpoint's digests and epochs.
func (w *Watcher) compareSides() {
	for id := range w.query.commits {
		w.recorded[id] = true
		w.newestRecorded = max(w.newestRecorded, id)
	}
	w.compareDigests()
	w.compareEpochs()
}

// compareRecorded verifies that the recorded batches are in the table, whose newest is given.
func (w *Watcher) compareRecorded(recorded []int64, newest int64) {
	r, l := w.report, w.main.ledger
	if len(recorded) == 0 {
		return
	}
	r.checked(IDs, len(recorded))
	missing := slices.DeleteFunc(slices.Clone(recorded), func(id int64) bool {
		return id <= newest || w.query.offsets[id] != nil && w.query.offsets[id].entry.recordedFirst() // it is about to come, or is lost
	})
	if len(missing) == 0 {
		return
	}
	last := missing[len(missing)-1]
	switch {
	case l == nil || l.log.state == nil:
		r.broken(IDs, fmt.Sprintf("commits/%d", last), "batch %d is recorded, but there is no table", last)
	case l.log.cut:
		r.notice("whether the recorded batches above %d are in the table cannot be told: the log is not whole", newest)
	case newest < 0 && len(l.queries()) > 0:
		r.broken(IDs, fmt.Sprintf("commits/%d", last), "batch %d of query %s is recorded, but the table holds no batch of it, only of query %s: they do not belong together",
			last, l.app, strings.Join(l.queries(), " and "))
	default:
		for _, id := range missing {
			r.broken(IDs, fmt.Sprintf("commits/%d", id), "batch %d is recorded, but not in the table, which holds %s", id, upTo(newest))
		}
	}
}

func upTo(batch int64) string {
	if batch < 0 {
		return "no batch"
	}
	return fmt.Sprintf("batches up to %d", batch)
}

// compareDigests verifies that the checkpoint's entries are those that were committed.
func (w *Watcher) compareDigests() {
	for _, s := range w.sides() {
		l := s.ledger
		for id, o := range w.query.offsets {
			f := l.facts[id]
			if f == nil || f.digest == "" || f.compared == o {
				continue
			}
			f.compared = o
			if o.entry == nil {
				continue // that it cannot be read is said already
			}
			w.report.checked(Digest, 1)
			if hex.EncodeToString(o.sum[:]) != f.digest {
				w.report.broken(Digest, fmt.Sprintf("offsets/%d", id), "%s holds batch %d with another digest: it covers other offsets than the entry", l.log.at(f.version), id)
			}
			if f.epoch < o.epoch {
				w.report.broken(Epoch, l.log.at(f.version), "epoch %d commits batch %d, whose entry epoch %d wrote", f.epoch, id, o.epoch)
			}
		}
		w.compareNewest(l)
	}
}

// compareNewest verifies the digest that the txns keep of the newest batch, which outlives the log's versions.
func (w *Watcher) compareNewest(l *ledger) {
	id := l.newest()
	o := w.query.offsets[id]
	code, ok := l.log.state.txns[l.app+"#offsets"]
	if o == nil || o.entry == nil || !ok || code&(1<<idBits-1) != id&(1<<idBits-1) { // the last is a batch of a writer without digests
		return
	}
	w.report.checked(Digest, 1)
	f := l.facts[id]
	told := f != nil && f.compared == o && hex.EncodeToString(o.sum[:]) != f.digest // of the version that holds it
	if code != stored(o.sum, id) && !told {
		w.report.broken(Digest, fmt.Sprintf("offsets/%d", id), "%sthe table holds batch %d with another digest: it covers other offsets than the entry", l.log.label, id)
	}
}

// compareEpochs verifies that the epochs of commits were claimed by the runs that committed.
func (w *Watcher) compareEpochs() {
	claimed := w.query.newestEpoch()
	for _, s := range w.sides() {
		l := s.ledger
		for _, f := range l.facts {
			if f.epoch == 0 || f.claimed {
				continue
			}
			f.claimed = true
			w.report.checked(Epoch, 1)
			if entry, ok := w.query.epochs[f.epoch]; ok && entry != f.writer {
				w.report.broken(Epoch, l.log.at(f.version), "run %s commits in epoch %d, which run %s has claimed", f.writer, f.epoch, entry)
			}
		}
		if epoch, ok := l.log.state.txns[l.app+"#epoch"]; ok && epoch > claimed && claimed > 0 {
			w.report.broken(Epoch, fmt.Sprintf("_engine/epoch/%d", epoch), "%sthe table holds epoch %d, the checkpoint's newest is %d", l.log.label, epoch, claimed)
		}
	}
}

// sides are the tables that are there.
func (w *Watcher) sides() (out []*side) {
	for _, s := range []*side{w.main, w.reject} {
		if s != nil && s.ledger != nil && s.ledger.log.state != nil {
			out = append(out, s)
		}
	}
	return out
}
