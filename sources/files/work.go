package files

import (
	"context"
	"errors"
	"strings"
	"sync"

	"microbatch/codec"
	"microbatch/internal/errcode"
	"microbatch/internal/invariant"
	"microbatch/sources"
)

const (
	// localUnit is the size of a unit on local disk: large enough to read fast, small enough to be decoded while it is in cache and to share one file evenly.
	localUnit = 1 << 20
	// remoteUnit is the same where each read is a request.
	remoteUnit = 8 << 20
)

// work is the files of a range, shared by the splits that read it. A split takes the next unit of an open file, else opens the next file, so files are
// opened at once and a single large file is read by all splits.
type work struct {
	source *Source
	target int64
	inputs []*input

	mu      sync.Mutex
	changed sync.Cond // opening has changed
	next    int       // the first file that nobody has opened
	opening int       // splits that are opening a file; each is inside of a call and will finish
	ready   []int     // open files with units to give
	running int       // splits between their first and last record
}

// task is one unit that a split has taken.
type task struct {
	input int
	unit  codec.Unit
}

func newWork(s *Source, planned []file) *work {
	w := &work{source: s, target: localUnit, inputs: make([]*input, len(planned))}
	if !strings.HasPrefix(s.config.Root, "file:") {
		w.target = remoteUnit
	}
	for i, f := range planned {
		w.inputs[i] = newInput(s, f)
	}
	w.changed.L = &w.mu
	return w
}

// splits makes about want splits, not more than there can be units.
func (w *work) splits(want int) []sources.Split {
	var units int64
	for _, in := range w.inputs {
		units++
		if compression(in.file.key) == "" {
			units += in.file.size / w.target
		}
	}
	splits := make([]sources.Split, max(1, min(int64(want), units)))
	for i := range splits {
		splits[i] = &split{work: w, covered: make([]int64, len(w.inputs))}
	}
	return splits
}

// take is the next unit for split p; ok is false if there is none left. The input of the task is open for its reader, who calls finish or drop.
func (w *work) take(ctx context.Context, p *split) (t task, ok bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		switch {
		case len(w.ready) > 0:
			return w.give(ctx)
		case w.next < len(w.inputs):
			if err := w.openNext(ctx, p); err != nil {
				return task{}, false, err
			}
		case w.opening > 0:
			w.changed.Wait()
		default:
			return task{}, false, nil
		}
	}
}

// give hands out a unit of the first ready file.
func (w *work) give(ctx context.Context) (t task, ok bool, err error) {
	i := w.ready[0]
	in := w.inputs[i]
	if err := in.open(ctx); err != nil {
		return task{}, false, err
	}
	t = task{i, in.units[in.given]}
	if in.given++; in.given == len(in.units) {
		w.ready = w.ready[1:]
		err = in.letGo()
	}
	return t, true, err
}

// openNext opens the next file and makes it ready, or leaves out a missing one; the lock is released meanwhile.
func (w *work) openNext(ctx context.Context, p *split) error {
	i := w.next
	in := w.inputs[i]
	w.next++
	w.opening++
	w.mu.Unlock()
	err := in.open(ctx)
	var units []codec.Unit
	if err == nil {
		if units, err = in.cut(ctx, w.target); err != nil {
			err = errors.Join(err, in.close())
		}
	}
	w.mu.Lock()
	w.opening--
	w.changed.Broadcast()
	if errcode.Has(err, errcode.FileGone) && w.source.config.SkipMissing {
		w.source.config.Notice(in.name + " is gone and is left out")
		p.covered[i] = in.file.size
		return nil
	}
	if err != nil {
		return err
	}
	invariant.Check(len(units) > 0, "%s has a unit", in.name)
	in.units, in.held = units, true
	w.ready = append(w.ready, i)
	return nil
}

// drop ends the use of a task that was not read to its end.
func (w *work) drop(t task) error { return w.inputs[t.input].close() }

// finish ends the use of a task that was read to its end. Who finishes the last unit of a file checks that it is still as planned.
func (w *work) finish(ctx context.Context, t task) error {
	in := w.inputs[t.input]
	w.mu.Lock()
	in.done++
	last := in.done == len(in.units)
	w.mu.Unlock()
	if err := in.close(); err != nil || !last {
		return err
	}
	return in.checkEnd(ctx)
}

// enter and leave frame a split's stream. The last one to leave closes the files that have units left; a split that comes later opens them again.
func (w *work) enter() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running++
}

func (w *work) leave() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running--; w.running > 0 {
		return nil
	}
	var faults []error
	for _, i := range w.ready {
		faults = append(faults, w.inputs[i].letGo())
	}
	return errors.Join(faults...)
}
