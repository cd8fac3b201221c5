package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/batch"
	"microbatch/checkpointlog"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/objstore/localfs"
	"microbatch/sinks"
	"microbatch/sources"
)

// mentions reports whether a text names the code.
func mentions(text string, c errcode.Code) bool { return strings.Contains(text, c.ID) }

// altered is the source of numbers with parts of it replaced.
type altered struct {
	*numbers
	learned map[string]string
	schema  *arrow.Schema
	split   func(sources.Split) sources.Split
	opened  map[string]int // how often the splits of each range were opened
}

func (s *altered) Describe() ident.Description {
	d := s.numbers.Describe()
	d.Learned = s.learned
	return d
}

func (s *altered) Schema() *arrow.Schema {
	if s.schema != nil {
		return s.schema
	}
	return s.numbers.Schema()
}

func (s *altered) Splits(ctx context.Context, from, to ident.Offset, aux map[string]string, want int) ([]sources.Split, error) {
	splits, err := s.numbers.Splits(ctx, from, to, aux, want)
	if s.opened != nil && from != to {
		s.opened[string(from)+"-"+string(to)]++
	}
	for i := range splits {
		if s.split != nil {
			splits[i] = s.split(splits[i])
		}
	}
	return splits, err
}

// miscounted says one row more than it gave.
type miscounted struct{ sources.Split }

func (s miscounted) Reached() sources.Position {
	p := s.Split.Reached()
	p.Rows++
	return p
}

// panicking is a source with a bug.
type panicking struct{ sources.Split }

func (panicking) Records(context.Context) batch.Stream {
	return func(func(batch.Chunk, error) bool) { panic("a bug of the source") }
}

func TestABatchThatIsWrongIsNotCommitted(t *testing.T) {
	for _, c := range []struct {
		name  string
		split func(sources.Split) sources.Split
		want  errcode.Code
	}{
		{"the source counts other rows than it gave", func(s sources.Split) sources.Split { return miscounted{s} }, errcode.CountMismatch},
		{"a panic is an error of the batch", func(s sources.Split) sources.Split { return panicking{s} }, errcode.PartPanicked},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(10)
			q, src, _ := w.query()
			q.Sources = []sources.Source{&altered{numbers: src, split: c.split}}
			if err := q.Run(t.Context()); !errcode.Has(err, c.want) {
				t.Fatalf("error %v, want %s", err, c.want.ID)
			}
			w.checkRows(t, 0)
		})
	}
}

func TestAQueryThatCannotRunSaysAllThatIsMissing(t *testing.T) {
	err := Query{Trigger: Trigger{Once: true, Every: time.Second, MinPause: -1}, Limit: sources.Limit{Rows: -1}}.Run(t.Context())
	if !errcode.Has(err, errcode.QueryIncomplete) {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{"no name", "no source", "no sink", "no checkpoint", "rejected rows", "limit", "duration", "run once"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

func TestSourcesWithDifferentSchemasAreRefused(t *testing.T) {
	w := newWorld(10)
	q, src, _ := w.query()
	other := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.BinaryTypes.String}}, nil)
	q.Sources = append(q.Sources, &altered{numbers: src, schema: other})
	if err := q.Run(t.Context()); !errcode.Has(err, errcode.SchemasDiffer) {
		t.Fatalf("error %v", err)
	}
	w.checkTrace(t, 0)
}

// checkTrace fails unless the checkpoint has n objects.
func (w *world) checkTrace(t *testing.T, n int) {
	t.Helper()
	var keys []string
	for info, err := range w.checkpoint.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	if len(keys) != n {
		t.Errorf("the checkpoint holds %v, want %d objects", keys, n)
	}
}

func TestWhatWasLearnedIsPinnedAndComparedOneByOne(t *testing.T) {
	w := newWorld(10)
	start := func(learned map[string]string) error {
		q, src, _ := w.query()
		q.Sources = []sources.Source{&altered{numbers: src, learned: learned}}
		return q.Run(t.Context())
	}
	for _, learned := range []map[string]string{
		{"topic.a": "id-1"},
		{},                                     // not met this time: what is pinned stays
		{"topic.a": "id-1", "topic.b": "id-2"}, // a new fact is accepted
	} {
		if err := start(learned); err != nil {
			t.Fatal(err)
		}
	}
	for _, learned := range []map[string]string{{"topic.a": "id-9"}, {"topic.a": "id-1", "topic.b": "id-9"}} {
		err := start(learned)
		if !errcode.Has(err, errcode.LearnedChanged) || !strings.Contains(err.Error(), "is now id-9") {
			t.Fatalf("%v: error %v", learned, err)
		}
	}
	if e, err := checkpointlog.NewCheckpoint(w.checkpoint).NewestEpoch(t.Context()); err != nil || e != 3 {
		t.Errorf("the refused starts have claimed epochs up to %d, %v", e, err)
	}
}

func TestIdentityMayNotChangeAndEvolutionIsLogged(t *testing.T) {
	w := newWorld(10)
	q, _, _ := w.query()
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	q, _, _ = w.query()
	q.OnError = FailQuery
	var log bytes.Buffer
	q.Log = slog.New(slog.NewTextHandler(&log, nil))
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "the pipeline has changed since the last start") || !strings.Contains(log.String(), "on_error was 2 and is now 1") {
		t.Errorf("log: %s", log.String())
	}
	q, _, sink := w.query()
	sink.suffix = "-other"
	if err := q.Run(t.Context()); !errcode.Has(err, errcode.PipelineChanged) || !strings.Contains(err.Error(), "sink.suffix") {
		t.Errorf("another sink: %v", err)
	}
	q, _, _ = w.query()
	q.AcceptChange = true
	q.Sources = append(q.Sources, &numbers{})
	if err := q.Run(t.Context()); err == nil {
		t.Error("another source was accepted")
	}
}

func TestAStartOnASparkQueryWithStateIsRefused(t *testing.T) {
	w := newWorld(10)
	if err := w.checkpoint.Put(t.Context(), "state/0/0/1.delta", []byte("x")); err != nil {
		t.Fatal(err)
	}
	q, _, _ := w.query()
	if err := q.Run(t.Context()); !errcode.Has(err, errcode.CheckpointUnsupported) {
		t.Fatalf("error %v", err)
	}
	w.checkTrace(t, 1)
}

func TestACheckpointThatKeepsChangingIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(10)
		q, _, _ := w.query()
		if err := q.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		entry, err := w.checkpoint.Get(t.Context(), "offsets/0")
		if err != nil {
			t.Fatal(err)
		}
		q, _, sink := w.query()
		n := 0
		q.Sink = hooked{ledger: sink, visible: func() { // another driver never stops
			n++
			if err := w.checkpoint.Put(t.Context(), fmt.Sprintf("offsets/%d", n), entry); err != nil {
				t.Error(err)
			}
		}}
		if err := q.Run(t.Context()); !errcode.Has(err, errcode.CheckpointUnstable) {
			t.Fatalf("error %v", err)
		}
	})
}

// TestAnotherEngineThatTakesOverStopsARunningDriver: only a start may go on from what Spark has written.
func TestAnotherEngineThatTakesOverStopsARunningDriver(t *testing.T) {
	w := newWorld(30)
	q, _, _ := w.query()
	q.Listener.Progress = func(p Progress) {
		if p.Batch != 0 {
			return
		}
		before, err := checkpointlog.NewCheckpoint(w.checkpoint).ReadEntry(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		spark := checkpointlog.Offsets{Version: 1, Timestamp: before.Offsets.Timestamp, Ends: []ident.Offset{"20"}, Conf: map[string]string{}}
		data, err := spark.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := w.checkpoint.PutIfAbsent(t.Context(), "offsets/1", data); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Run(t.Context()); !errcode.Has(err, errcode.ForeignDriver) {
		t.Fatalf("error %v", err)
	}
	w.checkRows(t, 10)
	q, _, _ = w.query() // which is that of Spark: it is finished, then the rest
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.checkRows(t, 30)
}

func TestAnUncertainCommitClaimsANewEpochAndIsGivenUpAfterMaxRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(10)
		q, _, sink := w.query()
		sink.results, sink.skip = []sinks.Result{{Outcome: sinks.Uncertain}}, []bool{true}
		var progress Progress
		q.Listener.Progress = func(p Progress) { progress = p }
		if err := q.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.checkRows(t, 10)
		if progress.Epoch != 2 || sink.aborted != 0 {
			t.Errorf("recorded in epoch %d, %d attempts deleted", progress.Epoch, sink.aborted)
		}

		w = newWorld(10)
		q, _, sink = w.query()
		q.MaxRestarts = 3
		for range 4 {
			sink.results, sink.skip = append(sink.results, sinks.Result{Outcome: sinks.Uncertain}), append(sink.skip, true)
		}
		err := q.Run(t.Context())
		if !errcode.Has(err, errcode.RestartsSpent) || !errcode.Has(err, errcode.OutcomeUnknown) {
			t.Fatalf("error %v", err)
		}
		if sink.aborted != 0 {
			t.Errorf("%d attempts were deleted whose fate nobody knew", sink.aborted)
		}
	})
}

// TestACheckpointThatIsDeletedWhileTheQueryRunsStopsIt deletes the folder under a running query on disk.
func TestACheckpointThatIsDeletedWhileTheQueryRunsStopsIt(t *testing.T) {
	w := newWorld(50)
	dir := filepath.Join(t.TempDir(), "checkpoint")
	store, err := localfs.New(dir, localfs.Options{Private: true})
	if err != nil {
		t.Fatal(err)
	}
	w.checkpoint = store
	q, _, _ := w.query()
	q.Listener.Progress = func(p Progress) {
		if p.Batch == 1 {
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		}
	}
	if err := q.Run(t.Context()); !errcode.Has(err, errcode.CheckpointDamaged) {
		t.Fatalf("error %v", err)
	}
}

// Two first starts on the same place: while one looks at what is there, the other makes the checkpoint and fills it. That is no damage, and no reason to refuse.
func TestAFirstStartThatAnotherOvertakesGoesOnBehindIt(t *testing.T) {
	w := newWorld(30)
	w.checkpoint = &overtaken{Store: w.checkpoint, at: "offsets/", overtake: func() {
		other := *w
		other.checkpoint = w.checkpoint.(*overtaken).Store
		q, _, _ := other.query()
		if err := q.Run(t.Context()); err != nil {
			t.Error(err)
		}
	}}
	q, _, _ := w.query()
	if err := q.Run(t.Context()); err != nil {
		t.Error(err)
	}
	w.checkRows(t, 30)
}

// overtaken is a store in which something happens before the first listing of a place.
type overtaken struct {
	objstore.Store
	at       string
	overtake func()
}

func (s *overtaken) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Info, error] {
	if f := s.overtake; f != nil && prefix == s.at {
		s.overtake = nil
		f()
	}
	return s.Store.List(ctx, prefix, after)
}

// purged is a source that finds nothing of its own any more, because a newer driver has come and gone.
type purged struct {
	sources.Source
	come func()
}

func (p purged) Plan(context.Context, ident.Offset, sources.Limit) (sources.Planned, error) {
	p.come()
	return sources.Planned{}, fs.ErrNotExist
}

func TestADriverThatWasOvertakenSaysSoWhateverItStumblesOver(t *testing.T) {
	for _, overtaken := range []bool{false, true} {
		w := newWorld(10)
		q, src, _ := w.query()
		q.Sources = []sources.Source{purged{Source: src, come: func() {
			if overtaken {
				if err := w.checkpoint.PutIfAbsent(t.Context(), "_engine/epoch/7", []byte("v1\n{}")); err != nil {
					t.Error(err)
				}
			}
		}}}
		err := q.Run(t.Context())
		if errcode.Has(err, errcode.DriverFenced) != overtaken || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("overtaken %v: %v", overtaken, err)
		}
	}
}
