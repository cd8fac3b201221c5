package checker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"microbatch/objstore"
)

// TargetInput is what is verified of a target, and what is known about it. Target and Checkpoint are needed.
type TargetInput struct {
	Target     Target
	Checkpoint objstore.Store
	// Rejected is the table of rejected rows; nil if there is none, or nothing is to be said about it.
	Rejected objstore.Store
	// Query is the query id; "": that of the checkpoint.
	Query string
	// Model says which rows the target has to hold; nil: its rows are not asked for.
	Model Model
	// Keyed: a row takes the place of the one of its key, so that a batch may take rows away. The model of the whole input then says which are left.
	Keyed bool
	// Twice: rows may be there more than once, as at least once allows.
	Twice bool
	// OnDisk: what the target holds may be gone after a PowerLoss, as far as nothing was built on it.
	OnDisk bool
	// Progress is called now and then with how many of the "batches" or "files" to be read were read; nil: by nobody.
	Progress func(what string, done, all int64)
}

// CheckTarget verifies once.
func CheckTarget(ctx context.Context, in TargetInput) (*Report, error) {
	t := WatchTarget(in)
	if _, err := t.Look(ctx); err != nil {
		return nil, err
	}
	if err := t.Finish(ctx); err != nil {
		return nil, err
	}
	return t.Report(), nil
}

// TargetWatcher verifies a target and its checkpoint again and again. It is used by one goroutine; drivers may work meanwhile.
type TargetWatcher struct {
	in   TargetInput
	log  *Watcher  // of the checkpoint and the rejected rows; it has no table
	last *Position // what the target said last; nil: nothing yet
	// What is known of batches and rows, and stays when the entries are purged.
	atMostOnce map[int64]bool
	known      map[string]bool   // ids that the model has named so far
	told       map[Rule][]string // ids that were reported
	lost       map[int64]bool
	rows       map[int64]int64 // of a Keeper's batches
}

// WatchTarget begins. Nothing is read yet.
func WatchTarget(in TargetInput) *TargetWatcher {
	return &TargetWatcher{
		in: in, log: Watch(Input{Checkpoint: in.Checkpoint, Rejected: in.Rejected, Query: in.Query, Model: in.Model, Progress: in.Progress}),
		atMostOnce: map[int64]bool{}, known: map[string]bool{}, told: map[Rule][]string{}, lost: map[int64]bool{}, rows: map[int64]int64{},
	}
}

// Report is what was found so far. It is the watcher's own and changes with the next look.
func (t *TargetWatcher) Report() *Report { return t.log.report }

// PowerLoss says that the machine of the drivers has just lost what was not durable, and that nothing ran since: what was seen may be gone from the end of the
// checkpoint. All that is left is verified anew.
func (t *TargetWatcher) PowerLoss() {
	t.log.PowerLoss()
	if t.in.OnDisk {
		t.last = nil
	}
}

// Look verifies what is there now. It returns the violations that are new; an error means that something could not be read.
func (t *TargetWatcher) Look(ctx context.Context) ([]Violation, error) {
	before := len(t.log.report.Violations)
	t.log.looks++
	if err := t.look(ctx); err != nil {
		return nil, err
	}
	return slices.Clone(t.log.report.Violations[before:]), nil
}

// Finish verifies what is too much for every look: it reads all entries of the checkpoint again, all batches of a Keeper, and all files of the rejected rows.
// Look again before.
func (t *TargetWatcher) Finish(ctx context.Context) error {
	if err := t.log.Finish(ctx); err != nil {
		return err
	}
	if err := t.judgeKept(ctx); err != nil {
		return err
	}
	t.summarize()
	return nil
}

// seen is a target as one look saw it: the rows were read between two positions.
type seen struct {
	before, after Position
	rows          []string
	counted       bool // rows are known
}

// settles is how often the rows are read again because the position has moved meanwhile.
const settles = 3

// look reads the recorded batches, then the target, then the checkpoint, as Watcher does and for its reason.
func (t *TargetWatcher) look(ctx context.Context) error {
	w, r := t.log, t.log.report
	recorded, err := w.query.recorded(ctx, r)
	if err != nil {
		return err
	}
	query := w.in.Query
	if query == "" {
		query = w.query.query
	}
	s, err := t.see(ctx, query)
	if err != nil {
		return err
	}
	if w.reject != nil {
		if err := w.reject.look(ctx, query, r, w.in.Progress); err != nil {
			return err
		}
	}
	if err := w.query.look(ctx, recorded, r); err != nil {
		return err
	}
	w.learnEnds()
	for id, o := range w.query.offsets {
		if o.entry.recordedFirst() {
			t.atMostOnce[id] = true
		}
	}
	if query == "" {
		return t.judgeUnknown(s)
	}
	t.judgeMove(s.before)
	if s.after != s.before {
		t.judgeMove(s.after)
	}
	newest := t.newestOf(recorded)
	t.compare(s, recorded)
	w.compareSides()
	held := s.before.Batch
	if !s.before.Keeps {
		held = newest
	}
	if err := t.settle(held, s); err != nil {
		return err
	}
	t.summarize()
	return nil
}

// newestOf is the newest recorded batch; -1 if there is none.
func (t *TargetWatcher) newestOf(recorded map[int64]objstore.Info) int64 {
	newest := int64(-1)
	for id := range recorded {
		newest = max(newest, id)
	}
	return newest
}

// see reads the target.
func (t *TargetWatcher) see(ctx context.Context, query string) (s seen, err error) {
	for range settles {
		if query != "" {
			if s.before, err = t.in.Target.Position(ctx, query); err != nil {
				return s, fmt.Errorf("checker: position of query %s: %w", query, err)
			}
		}
		s.after = s.before
		if t.in.Model == nil {
			return s, nil
		}
		s.rows, err = t.in.Target.Rows(ctx)
		if errors.Is(err, errors.ErrUnsupported) {
			t.log.report.notice("the rows of the sink are not verified: its reader cannot tell them")
			return s, nil
		}
		if err != nil {
			return s, fmt.Errorf("checker: rows: %w", err)
		}
		s.counted = true
		if query == "" {
			return s, nil
		}
		if s.after, err = t.in.Target.Position(ctx, query); err != nil {
			return s, fmt.Errorf("checker: position of query %s: %w", query, err)
		}
		if s.before == s.after {
			return s, nil
		}
	}
	return s, nil
}

// judgeUnknown verifies a target whose query was not known before it was read: if there is none now either, nobody has written to it.
func (t *TargetWatcher) judgeUnknown(s seen) error {
	if t.log.query.query == "" && len(s.rows) > 0 {
		return t.judgeRows(s.rows, -1, -1)
	}
	return nil
}

// summarize brings the report up to date.
func (t *TargetWatcher) summarize() {
	w, r := t.log, t.log.report
	w.summarize()
	r.Position = t.last
	if t.last == nil {
		return
	}
	for n := range r.Batches {
		b := &r.Batches[n]
		b.Lost = t.isLost(b)
		if rows, ok := t.rows[b.ID]; ok {
			b.Rows = rows
		}
		if b.ID != t.last.Batch || !t.last.Keeps {
			continue
		}
		b.Epoch = epochOf(t.last.Entry)
		if t.last.Entry == "" {
			b.Epoch = t.last.Epoch
		}
		switch o := w.query.offsets[b.ID]; {
		case o == nil:
			b.Digest = "missing"
		case o.entry == nil:
			b.Digest = "damaged"
		case o.has(t.last.Digest):
			b.Digest = "ok"
		default:
			b.Digest = "differs"
		}
	}
}

// isLost reports whether a batch is not in the target although it is recorded, as at most once allows.
func (t *TargetWatcher) isLost(b *Batch) bool {
	return t.lost[b.ID] || t.last.Keeps && b.Recorded && b.ID > t.last.Batch && t.atMostOnce[b.ID]
}
