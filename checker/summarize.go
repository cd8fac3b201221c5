package checker

import (
	"encoding/hex"
	"maps"
	"slices"
)

// summarize brings the report up to date.
func (w *Watcher) summarize() {
	r := w.report
	if w.query != nil && r.Query == "" {
		r.Query = w.query.query
	}
	r.Batches = r.Batches[:0]
	for _, id := range w.batches() {
		r.Batches = append(r.Batches, w.describe(id))
	}
	if w.main.ledger == nil || w.main.ledger.log.state == nil {
		return
	}
	l := w.main.ledger
	r.Version, r.Oldest, r.Rows = l.log.state.version, l.log.oldest, l.log.state.rows()
	if r.Query == "" {
		r.Query = l.app
	}
	for _, s := range w.sides() {
		s.tellBeginning(r)
	}
	l.tellReplacing(r)
	for _, other := range l.others() {
		r.notice("query %s has written to this table under the same pipeline name: its rows stand beside those of %s", other, l.app)
	}
}

// tellBeginning says what is not compared because the log was cleaned up.
func (s *side) tellBeginning(r *Report) {
	l := s.ledger
	if l.log.base < 0 || s.began {
		return
	}
	s.began = true
	r.notice("%sthe log goes back to version %d: what came before it is taken from the log checkpoint of version %d and not compared", s.label, l.log.oldest, l.log.base)
	first := l.newest() + 1
	for batch := range l.facts {
		first = min(first, batch)
	}
	if first > 0 && !l.sparse {
		r.notice("of batches 0 to %d the log tells only that they were committed: that each came once, and with the digest of its offsets, is not compared", first-1)
	}
}

// tellReplacing says what counts mean in a table whose batches replace rows.
func (l *ledger) tellReplacing(r *Report) {
	if l.replacing || !slices.ContainsFunc(slices.Collect(maps.Values(l.facts)), func(f *fact) bool { return f.replaces }) {
		return
	}
	l.replacing = true
	r.notice("batches replace rows of this table: the rows of a batch are those that it put in, and later ones may have replaced them. " +
		"Each commit's counts are compared with its files; that the rows are the right ones can only be compared with the input")
}

// batches are the ids of which anything is known, ascending.
func (w *Watcher) batches() []int64 {
	ids := map[int64]bool{}
	if w.main.ledger != nil {
		for id := range w.main.ledger.facts {
			ids[id] = true
		}
		for id := range w.main.ledger.lost {
			ids[id] = true
		}
	}
	if w.query != nil {
		for id := range w.query.offsets {
			if id > w.query.low {
				ids[id] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

func (w *Watcher) describe(id int64) Batch {
	b := Batch{ID: id, Version: -1, Digest: "unknown", Recorded: w.isRecorded(id), Rows: -1, Rejected: -1, Input: -1}
	if n, ok := w.inputs[id]; ok {
		b.Input = n
	}
	b.Rejected = w.rejectedRows(id)
	if w.main.ledger == nil {
		return b
	}
	f := w.main.ledger.facts[id]
	if f == nil {
		b.Lost = w.isLost(id)
		return b
	}
	b.Version, b.Epoch, b.Rows, b.Replaces = f.version, f.epoch, f.rows, f.replaces
	switch {
	case f.digest == "":
		b.Digest = "none"
	case f.compared == nil && w.query != nil && w.query.lacks(id):
		b.Digest = "missing"
	case f.compared == nil:
		b.Digest = "purged"
	case f.compared.entry == nil:
		b.Digest = "damaged"
	case hex.EncodeToString(f.compared.sum[:]) == f.digest:
		b.Digest = "ok"
	default:
		b.Digest = "differs"
	}
	return b
}

// isLost reports whether a batch that is in no version was recorded before it was to be committed.
func (w *Watcher) isLost(id int64) bool {
	if w.main.ledger.lost[id] {
		return true
	}
	return w.isRecorded(id) && w.query.offsets[id] != nil && w.query.offsets[id].entry.recordedFirst()
}

// isRecorded reports whether a batch is recorded, or was before its entries were purged.
func (w *Watcher) isRecorded(id int64) bool {
	if w.query == nil || w.recorded[id] {
		return w.query != nil
	}
	return w.query.offsets[id] == nil && id < w.newestRecorded
}

// rejectedRows is the number of a batch's rejected rows; -1 if it is not known.
func (w *Watcher) rejectedRows(id int64) int64 {
	if w.reject == nil {
		return -1
	}
	l := w.reject.ledger
	switch {
	case l == nil:
		return 0
	case l.facts[id] != nil:
		return l.facts[id].rows
	case l.log.base >= 0:
		return -1
	}
	return 0
}
