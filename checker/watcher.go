package checker

import (
	"context"
	"slices"

	"microbatch/objstore"
)

// Watcher verifies a table and its checkpoint again and again. It is used by one goroutine; drivers may work meanwhile.
type Watcher struct {
	in      Input
	report  *Report
	looks   int
	query   *queryLog // nil: no checkpoint
	main    *side
	reject  *side // nil: none
	settled int64 // the newest batch of the table that was judged; -1 if none
	// What is known of batches by the logs, and stays when their entries are purged.
	inputs   map[int64]int64    // records in the range of a batch
	ends     map[int64][]string // where a batch ends
	recorded map[int64]bool

	newestRecorded int64 // -1 if none is
}

// Watch begins. Nothing is read yet.
func Watch(in Input) *Watcher {
	w := &Watcher{in: in, report: &Report{
		Query: in.Query, Version: -1, Oldest: -1, Rows: -1, Counts: map[Rule]int64{}, Violations: []Violation{}, Notices: []string{}, Batches: []Batch{}, Orphans: []string{},
	}}
	w.restart()
	return w
}

// restart forgets all but the report.
func (w *Watcher) restart() {
	w.main = &side{store: w.in.Table, format: w.in.Format, foreign: w.in.Foreign}
	if len(w.in.IDs) > 0 {
		w.main.columns = w.in.IDs
	}
	if w.in.Rejected != nil {
		w.reject = &side{store: w.in.Rejected, label: "rejected table: ", suffix: "/rejected"}
		if w.in.Model != nil {
			w.reject.columns = []string{"position"}
		}
	}
	if w.in.Checkpoint != nil {
		w.query = newQueryLog(w.in.Checkpoint)
	}
	w.settled = -1
	w.inputs, w.ends, w.recorded = map[int64]int64{}, map[int64][]string{}, map[int64]bool{}
	w.newestRecorded = -1
}

// PowerLoss says that the machine has just lost what was not durable, and that nothing ran since: what was seen may be gone from the end of the logs, and so
// may data files. All that is left is verified anew.
func (w *Watcher) PowerLoss() {
	main, reject, query := w.main, w.reject, w.query
	w.restart()
	w.main.was = main.seen()
	if reject != nil {
		w.reject.was = reject.seen()
	}
	if query != nil {
		w.query.was = query.all()
	}
}

// Report is what was found so far. It is the watcher's own and changes with the next look.
func (w *Watcher) Report() *Report { return w.report }

// Look reads what has come since the last look and verifies it. It returns the violations that are new; an error means that something could not be read.
func (w *Watcher) Look(ctx context.Context) ([]Violation, error) {
	before := len(w.report.Violations)
	w.looks++
	if err := w.look(ctx); err != nil {
		return nil, err
	}
	return slices.Clone(w.report.Violations[before:]), nil
}

// look reads the recorded batches, then the tables, then the checkpoint: what was recorded at the beginning has to be in the tables, and what is in the tables has to be
// in the checkpoint at the end, however much the drivers do meanwhile.
func (w *Watcher) look(ctx context.Context) (err error) {
	query := w.in.Query
	var recorded map[int64]objstore.Info
	if w.query != nil {
		if recorded, err = w.query.recorded(ctx, w.report); err != nil {
			return err
		}
		if query == "" {
			query = w.query.query
		}
	}
	if err := w.main.look(ctx, query, w.report, w.in.Progress); err != nil {
		return err
	}
	if w.reject != nil {
		if err := w.reject.look(ctx, query, w.report, nil); err != nil {
			return err
		}
	}
	if w.query != nil {
		if err := w.query.look(ctx, recorded, w.report); err != nil {
			return err
		}
		w.compare(recorded)
	} else if w.main.ledger != nil {
		w.main.ledger.judgeHoles(nil, w.report)
	}
	if err := w.settle(ctx); err != nil {
		return err
	}
	w.summarize()
	return nil
}
