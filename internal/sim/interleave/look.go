package interleave

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"microbatch/checker"
	"microbatch/internal/sim/world"
	"microbatch/objstore"
	"microbatch/table"
	"microbatch/table/translog"
)

// PowerLoss ends all actors and takes the power from a disk: of what was not synced each change survives with percent in a hundred.
func (s *Stage) PowerLoss(percent int) {
	for _, a := range s.actors {
		a.Process.Kill()
		<-a.done
	}
	s.trace = append(s.trace, "power loss")
	s.World.PowerLoss(rand.New(rand.NewPCG(1, 2)), percent)
}

// Exact requires that the table holds every good row of the topic exactly once and nothing else.
func (s *Stage) Exact() {
	s.T.Helper()
	s.ExactUpTo(s.World.Topic.Ends...)
}

// ExactUpTo requires that the table holds the good rows of each partition below its end exactly once and nothing else.
func (s *Stage) ExactUpTo(ends ...int64) {
	s.T.Helper()
	s.ExactRowsUpTo(ends...)
	s.Check()
}

// ExactRows is Exact for a table or a checkpoint that others have changed, so that only the rows can be verified.
func (s *Stage) ExactRows() {
	s.T.Helper()
	s.ExactRowsUpTo(s.World.Topic.Ends...)
}

// ExactRowsUpTo is ExactUpTo for a table or a checkpoint that others have changed.
func (s *Stage) ExactRowsUpTo(ends ...int64) {
	s.T.Helper()
	var want []string
	for p, end := range ends {
		for n := range end {
			if bad := s.World.Topic.Bad; bad == nil || !bad(p, n) {
				want = append(want, world.RowID(p, n))
			}
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, s.Rows(world.Table, "id")); diff != "" {
		s.T.Errorf("the table's rows (-want +got):\n%s", diff)
	}
}

// Check lets the checker verify every version of the table against the checkpoint and the topic.
func (s *Stage) Check() {
	s.T.Helper()
	in := checker.Input{Table: s.World.Store(world.Table), Checkpoint: s.World.Store(world.Checkpoint), IDs: []string{"id"}, Model: s.World.Topic.Expect}
	if len(s.Keys(world.Rejected, "_")) > 0 {
		in.Rejected = s.World.Store(world.Rejected)
	}
	report, err := checker.Check(context.Background(), in)
	s.Must(err)
	for _, v := range report.Violations {
		s.T.Errorf("the checker: %v", v)
	}
}

// Rows are the values of a text column of a table, sorted.
func (s *Stage) Rows(place, column string) []string {
	s.T.Helper()
	t, err := table.Open(context.Background(), s.World.Store(place), table.Options{})
	if err != nil {
		s.T.Fatal(err)
	}
	var out []string
	for rec, err := range t.Snapshot().Read(context.Background(), []string{column}, memory.DefaultAllocator) {
		if err != nil {
			s.T.Fatal(err)
		}
		values := rec.Column(0).(*array.String)
		for i := range values.Len() {
			out = append(out, strings.Clone(values.Value(i)))
		}
		rec.Release()
	}
	slices.Sort(out)
	return out
}

// NoOrphans requires that the data files below the table are those of the log: what a plain Parquet reader sees is the table.
func (s *Stage) NoOrphans() {
	s.T.Helper()
	t, err := table.Open(context.Background(), s.World.Store(world.Table), table.Options{})
	if err != nil {
		s.T.Fatal(err)
	}
	adds, err := t.Snapshot().Files(context.Background())
	if err != nil {
		s.T.Fatal(err)
	}
	var want []string
	for _, a := range adds {
		want = append(want, a.Path)
	}
	got := slices.DeleteFunc(s.Keys(world.Table, ""), func(key string) bool { return !strings.HasSuffix(key, ".parquet") || strings.HasPrefix(key, "_") })
	if diff := cmp.Diff(want, got); diff != "" {
		s.T.Errorf("data files (-named by the log +there):\n%s", diff)
	}
}

// Keys are the keys of a place.
func (s *Stage) Keys(place, prefix string) (keys []string) {
	s.T.Helper()
	for info, err := range s.World.Store(place).List(context.Background(), prefix, "") {
		if err != nil {
			s.T.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

// Copy copies all objects of a store into an empty one, as somebody's hand would.
func (s *Stage) Copy(from, to objstore.Store) {
	s.T.Helper()
	s.Must(world.Copy(context.Background(), to, from))
}

// Restore puts a copy in the place of all that a place holds.
func (s *Stage) Restore(from objstore.Store, place string) {
	s.T.Helper()
	for _, key := range s.Keys(place, "") {
		s.Must(s.World.Store(place).Delete(context.Background(), key))
	}
	s.Copy(from, s.World.Store(place))
}

// Must ends the test if something that the schedule needs has failed.
func (s *Stage) Must(err error) {
	s.T.Helper()
	if err != nil {
		s.T.Fatal(err)
	}
}

// CleanLog writes a table checkpoint and deletes all entries of the log before it, as a clean-up does after many days.
func (s *Stage) CleanLog() {
	s.T.Helper()
	ctx, store := context.Background(), s.World.Store(world.Table)
	t, err := table.Open(ctx, store, table.Options{})
	s.Must(err)
	_, err = t.Log().WriteCheckpoint(ctx, t.Snapshot().State())
	s.Must(err)
	time.Sleep(translog.MinRetention)
	for v := range t.Snapshot().Version() {
		s.Must(store.Delete(ctx, translog.Format(t.Format()).CommitKey(v)))
	}
}
