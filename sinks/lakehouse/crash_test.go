package lakehouse

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/ident"
	"microbatch/objstore/localfs"
	"microbatch/objstore/localfs/crashfs"
	"microbatch/sinks"
	"microbatch/sinks/sinktest"
	"microbatch/table"
	"microbatch/table/maintain"
)

// life is a query's life on a disk that loses power: six batches, from the fourth on with a new column, with a checkpoint of the log after every two commits,
// optimize, vacuum and clean-up of the log in between. It takes a week, by the clock of the disk too: what is old by one clock alone is kept.
type life struct {
	format string
	disk   *crashfs.FS
	epoch  ident.Epoch
	acked  ident.BatchID // the newest that a commit has confirmed
}

const lifeBatches = 6

func lifeSchema(id ident.BatchID) *arrow.Schema {
	s := sinktest.Schema()
	if id < 3 {
		return s
	}
	return arrow.NewSchema(append(s.Fields(), arrow.Field{Name: "extra", Type: arrow.PrimitiveTypes.Int64, Nullable: true}), nil)
}

// run is one process: it recovers and goes on until the end, or until the power is lost.
func (l *life) run(ctx context.Context) error {
	l.epoch++
	for id := ident.BatchID(0); id < lifeBatches; {
		s, err := New(Config{
			Store: localfs.NewOn(l.disk, localfs.Options{}), Format: l.format, PartitionBy: []string{"name"}, SchemaEvolution: AddColumns, AllowReplacedFiles: true,
			Maintenance: Maintenance{OptimizeEvery: time.Hour, VacuumRetain: 48 * time.Hour},
			Properties:  map[string]string{"delta.checkpointInterval": "2", "delta.logRetentionDuration": "interval 2 days"},
		})
		if err != nil {
			return err
		}
		if id, err = l.session(ctx, s, id); err != nil {
			return err
		}
	}
	return nil
}

// session runs the batches of one schema, from the first that is not visible.
func (l *life) session(ctx context.Context, s *Sink, id ident.BatchID) (ident.BatchID, error) {
	q := sinktest.Query("q", l.epoch)
	v, err := s.Visible(ctx, q)
	if err != nil {
		return id, err
	}
	if v.Batch < l.acked {
		return id, errors.New("a confirmed batch is gone")
	}
	first := max(v.Batch, id) // in a new process the visible batch, which may have been swept half
	in := lifeSchema(first)
	if err := s.Check(ctx, in); err != nil {
		return id, err
	}
	entry := sinktest.Entry(first, "a")
	if err := s.Recover(ctx, q, &sinks.Intent{ID: first, Digest: ident.DigestOf(entry), Entry: entry}); err != nil {
		return id, err
	}
	for id = first; id < lifeBatches && lifeSchema(id).Equal(in); id++ {
		if err := l.batch(ctx, s, id); err != nil {
			return id, err
		}
	}
	if id < lifeBatches { // what is next has another schema; the visible batch is done again there and found to be
		return id, s.Check(ctx, lifeSchema(id))
	}
	return id, nil
}

func (l *life) batch(ctx context.Context, s *Sink, id ident.BatchID) error {
	b := sinktest.Batch(id, "a", memory.DefaultAllocator)
	b.Schema = lifeSchema(id)
	for part := range int64(2) {
		b.Parts = append(b.Parts, lifePart(b.Schema, int64(id)*4+part*2))
	}
	p, err := s.Prepare(ctx, b)
	if err != nil {
		return err
	}
	r, err := s.Commit(ctx, p)
	if err != nil {
		return err
	}
	if r.Outcome != sinks.Committed && r.Outcome != sinks.AlreadyCommitted {
		return errors.Join(errors.New(r.Outcome.String()), r.Why)
	}
	l.acked = max(l.acked, id)
	if err := s.Sweep(ctx, sinks.Intent{ID: id}); err != nil {
		return err
	}
	if err := s.Maintain(ctx, time.Now()); err != nil {
		return err
	}
	time.Sleep(30 * time.Hour)
	return s.Maintain(ctx, time.Now())
}

// lifePart has two rows, in two partitions.
func lifePart(s *arrow.Schema, from int64) batch.Part {
	return batch.PartFunc(func(context.Context) batch.Stream {
		return func(yield func(batch.Chunk, error) bool) {
			b := array.NewRecordBuilder(memory.DefaultAllocator, s)
			defer b.Release()
			for id := from; id < from+2; id++ {
				b.Field(0).(*array.Int64Builder).Append(id)
				b.Field(1).(*array.StringBuilder).Append([]string{"even", "odd"}[id%2])
				for c := 2; c < s.NumFields(); c++ {
					b.Field(c).(*array.Int64Builder).Append(id)
				}
			}
			yield(batch.Chunk{Record: b.NewRecordBatch()}, nil)
		}
	})
}

// verify reads the table and compares it with what was written; and for format parquet the files below it.
func (l *life) verify(t *testing.T) {
	t.Helper()
	tbl, err := table.Open(t.Context(), localfs.NewOn(l.disk, localfs.Options{}), table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for rec, err := range tbl.Snapshot().Read(t.Context(), []string{"id"}, memory.DefaultAllocator) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, rec.Column(0).(*array.Int64).Int64Values()...)
		rec.Release()
	}
	slices.Sort(ids)
	var want []int64
	for id := range int64(lifeBatches * 4) {
		want = append(want, id)
	}
	if !slices.Equal(ids, want) {
		t.Fatalf("rows %v", ids)
	}
	report, err := tbl.Check(t.Context(), maintain.CheckOptions{Values: true})
	if err != nil || len(report.Problems) > 0 || l.format == "parquet" && orphansOfBatches(report.Orphans) > 0 {
		t.Fatalf("check: %+v, %v", report, err)
	}
}

// orphansOfBatches counts files that are not left of a killed optimize.
func orphansOfBatches(keys []string) (n int) {
	for _, key := range keys {
		if !strings.Contains(key, "/opt-") {
			n++
		}
	}
	return n
}

// TestPowerLossAtEveryStep takes the power away at every operation on the disk, in turn, and lets a new process go on (C07, C08, C11 to C13, C17 to C21,
// C24, D01). Of what was not synced, nothing, half or all survives. Every fifth operation is tried; with MICROBATCH_SWEEP=all every one.
func TestPowerLossAtEveryStep(t *testing.T) {
	for _, format := range []string{"parquet", "delta"} {
		t.Run(format, func(t *testing.T) {
			random := rand.New(rand.NewPCG(7, 7))
			step := 5
			if os.Getenv("MICROBATCH_SWEEP") == "all" {
				step = 1
			}
			crashes, whole := 0, false
			for k := 1; !whole && !t.Failed(); k += step {
				synctest.Test(t, func(t *testing.T) { whole = liveUntil(t, format, k, random, []int{0, 50, 100}[crashes%3]) })
				crashes++
			}
			t.Logf("%d crashes", crashes-1)
		})
	}
}

// liveUntil is a life whose power is lost at the k-th operation, and its continuation. whole: it ended before that.
func liveUntil(t *testing.T, format string, k int, random *rand.Rand, survives int) (whole bool) {
	l := &life{format: format, disk: crashfs.New(), acked: ident.NoBatch}
	removed := map[string]int{}
	l.disk.Fault(func(op, name string) error {
		if op == "remove" {
			removed[path.Ext(name)]++
		}
		return nil
	})
	l.disk.CrashAt(k)
	err := l.run(t.Context())
	if !l.disk.Lost() {
		if err != nil {
			t.Fatalf("without a crash: %v", err)
		}
		if removed[".parquet"] == 0 || removed[".json"] == 0 {
			t.Errorf("vacuum and clean-up were to delete something: %v", removed)
		}
		l.verify(t)
		return true
	}
	l.disk = l.disk.Crash(random, survives)
	if err := l.run(t.Context()); err != nil {
		t.Fatalf("after a crash at operation %d: %v", k, err)
	}
	l.verify(t)
	return false
}

// TestSweptFilesStayAwayAfterPowerLoss: an attempt died, the batch was made by another one, its files were swept and the batch was recorded; then power was
// lost. The removal of the files is as durable as the record, because nobody looks for them again.
func TestSweptFilesStayAwayAfterPowerLoss(t *testing.T) {
	l := &life{format: "parquet", disk: crashfs.New()}
	sink := func() *Sink {
		s, err := New(Config{Store: localfs.NewOn(l.disk, localfs.Options{})})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	staged := func(s *Sink, epoch ident.Epoch) sinks.Pending {
		t.Helper()
		if err := s.Check(t.Context(), lifeSchema(0)); err != nil {
			t.Fatal(err)
		}
		if err := s.Recover(t.Context(), sinktest.Query("q", epoch), nil); err != nil {
			t.Fatal(err)
		}
		b := sinktest.Batch(0, "a", memory.DefaultAllocator)
		b.Schema, b.Parts = lifeSchema(0), []batch.Part{lifePart(lifeSchema(0), 0)}
		p, err := s.Prepare(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	staged(sink(), 1) // and dies
	s := sink()
	if r, err := s.Commit(t.Context(), staged(s, 2)); err != nil || r.Outcome != sinks.Committed {
		t.Fatal(r, err)
	}
	if err := s.Sweep(t.Context(), sinks.Intent{ID: 0}); err != nil {
		t.Fatal(err)
	}
	l.disk = l.disk.Crash(rand.New(rand.NewPCG(7, 7)), 0)
	tbl, err := table.Open(t.Context(), localfs.NewOn(l.disk, localfs.Options{}), table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if report, err := tbl.Check(t.Context(), maintain.CheckOptions{Values: true}); err != nil || len(report.Problems)+len(report.Orphans) > 0 {
		t.Errorf("check: %+v, %v", report, err)
	}
}
