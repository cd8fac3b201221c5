package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"microbatch/checker"
	"microbatch/ident"
	"microbatch/internal/sim/world"
	"microbatch/objstore"
)

// referee lets package checker verify output and checkpoint, which shares no code with anything here.
type referee struct {
	s     *simulation
	views map[string]*view
	at    func() int64 // grows with what there is to verify
	watcher
	looked int64 // at, at the last look
}

// watcher is a checker.Watcher or a checker.TargetWatcher.
type watcher interface {
	Look(ctx context.Context) ([]checker.Violation, error)
	Finish(ctx context.Context) error
	PowerLoss()
	Report() *checker.Report
}

// view is a place of the world, whatever store it is just now.
type view struct{ objstore.Store }

// lookEvery is after how many versions the checker looks again.
const lookEvery = 12

func newReferee(s *simulation, at func() int64) *referee {
	r := &referee{s: s, views: map[string]*view{}, at: at}
	for _, place := range world.Places() {
		r.views[place] = &view{s.world.Store(place)}
	}
	r.begin()
	return r
}

// begin watches from here on: what came before is verified as it is now.
func (r *referee) begin() {
	if t := r.s.world.Target(); t != nil {
		r.watcher = checker.WatchTarget(checker.TargetInput{
			Target: t, Checkpoint: r.views[world.Checkpoint], Rejected: r.views[world.Rejected], Model: r.model, Keyed: r.s.replaces(), OnDisk: r.s.Sink == "files",
		})
		return
	}
	r.watcher = checker.Watch(checker.Input{
		Table: r.views[world.Table], Checkpoint: r.views[world.Checkpoint], Rejected: r.views[world.Rejected], IDs: []string{"id"}, Model: r.model,
	})
}

// remount follows the world after a disk was taken away.
func (r *referee) remount() {
	for place, v := range r.views {
		v.Store = r.s.world.Store(place)
	}
}

func (r *referee) model(from, to []string) (checker.Expect, error) {
	var begin, end []int64
	var err error
	if len(from) > 0 {
		if begin, err = r.s.in.parse(ident.Offset(from[0])); err != nil {
			return checker.Expect{}, err
		}
	}
	if end, err = r.s.in.parse(ident.Offset(to[0])); err != nil {
		return checker.Expect{}, err
	}
	e, err := r.s.expect(r.s.in, begin, end)
	if err != nil {
		return checker.Expect{}, err
	}
	out := checker.Expect{In: e.read, Filtered: e.filtered, Rejected: slices.Collect(maps.Keys(e.rejected))}
	left, err := r.s.left(end)
	for _, m := range e.made {
		if _, ok := left[m.id]; ok || left == nil {
			out.Out = append(out.Out, m.id)
		}
	}
	return out, err
}

// look verifies what has come, if it is enough.
func (r *referee) look(force bool) error {
	at := r.at()
	if !force && at < r.looked+lookEvery || at == 0 || r.s.broken {
		return nil
	}
	r.looked = at
	return r.verified(r.Look(context.Background()))
}

func (r *referee) verified(found []checker.Violation, err error) error {
	for _, v := range found {
		err = errors.Join(err, fmt.Errorf("checker: %s", v))
	}
	return err
}

// powerLost is told that the machine has lost its power.
func (r *referee) powerLost() {
	if !r.s.broken {
		r.PowerLoss()
		r.looked = 0
	}
}

// finish is the last look.
func (r *referee) finish() error {
	if err := r.look(true); err != nil {
		return err
	}
	before := len(r.Report().Violations)
	err := r.Finish(context.Background())
	return r.verified(r.Report().Violations[before:], err)
}

// orphans are the files of the table that no version names.
func (r *referee) orphans() []string {
	return slices.DeleteFunc(slices.Clone(r.Report().Orphans), func(key string) bool { return strings.HasPrefix(key, "rejected") })
}
