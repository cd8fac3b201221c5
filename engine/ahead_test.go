package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/sinks"
	"microbatch/sources"
	"microbatch/transforms"
)

// highWater is an allocator that knows how much was held at once at the most.
type highWater struct {
	memory.Allocator
	now, max atomic.Int64
}

func (a *highWater) add(n int) {
	now := a.now.Add(int64(n))
	for {
		was := a.max.Load()
		if now <= was || a.max.CompareAndSwap(was, now) {
			return
		}
	}
}

func (a *highWater) Allocate(n int) []byte { a.add(n); return a.Allocator.Allocate(n) }
func (a *highWater) Free(b []byte)         { a.add(-len(b)); a.Allocator.Free(b) }
func (a *highWater) Reallocate(n int, b []byte) []byte {
	a.add(n - len(b))
	return a.Allocator.Reallocate(n, b)
}

// wide is a source of numbers in chunks of 1,000 rows of 100 bytes. Every rejectEvery-th row is rejected, with 10 kB.
type wide struct {
	*numbers
	alloc       memory.Allocator
	rejectEvery int64
	broken      atomic.Int32 // so many of the next splits fail after their first chunk
}

var wideSchema = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "text", Type: arrow.BinaryTypes.String}}, nil)

func (s *wide) Schema() *arrow.Schema { return wideSchema }

func (s *wide) Splits(ctx context.Context, from, to ident.Offset, aux map[string]string, want int) ([]sources.Split, error) {
	splits, err := s.numbers.Splits(ctx, from, to, aux, want)
	for i := range splits {
		splits[i] = &wideSplit{numberSplit: splits[i].(*numberSplit), w: s}
	}
	return splits, err
}

type wideSplit struct {
	*numberSplit
	w *wide
}

func (p *wideSplit) Records(ctx context.Context) batch.Stream {
	return func(yield func(batch.Chunk, error) bool) {
		const step = 1000
		broken := p.w.broken.Add(-1) >= 0
		for at := p.from; at < p.to; at += step {
			if err := ctx.Err(); err != nil {
				yield(batch.Chunk{}, err)
				return
			}
			if broken && at > p.from {
				yield(batch.Chunk{}, errcode.BatchTimeout.New("", "the line is down"))
				return
			}
			if !yield(p.chunk(at, min(at+step, p.to)), nil) {
				return
			}
		}
	}
}

func (p *wideSplit) chunk(at, end int64) (c batch.Chunk) {
	b := array.NewRecordBuilder(p.w.alloc, wideSchema)
	defer b.Release()
	text := fmt.Sprintf("%0100d", at)
	for n := at; n < end; n++ {
		p.rows++
		if p.w.rejectEvery > 0 && n%p.w.rejectEvery == 0 {
			c.Rejected = append(c.Rejected, batch.Rejected{Position: offsetText(n), Reason: "MB3001 bad", Raw: make([]byte, 10<<10)})
			continue
		}
		b.Field(0).(*array.Int64Builder).Append(n)
		b.Field(1).(*array.StringBuilder).Append(text)
	}
	c.Record = b.NewRecordBatch()
	return c
}

// together is an operator that needs all rows in one part.
type together struct{ transforms.Operator }

func (together) Describe() ident.Description                    { return ident.Description{Kind: "together"} }
func (together) Output(in *arrow.Schema) (*arrow.Schema, error) { return in, nil }
func (together) Requires() transforms.Distribution {
	return transforms.Distribution{Kind: transforms.Whole}
}
func (together) Guarantee() guarantee.Link { return guarantee.Link{Name: "together"} }
func (together) Open(context.Context, transforms.Env) (transforms.Instance, error) {
	return together{}, nil
}
func (together) Apply(_ context.Context, in batch.Stream) batch.Stream { return in }
func (together) Counts() transforms.Counts                             { return transforms.Counts{} }
func (together) Close() error                                          { return nil }

// runWide runs a query over total rows in batches of limit and returns the most Arrow memory that was held at once.
func runWide(t *testing.T, total, limit, rejectEvery int64, ops ...transforms.Operator) int64 {
	t.Helper()
	checked := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer checked.AssertSize(t, 0)
	alloc := &highWater{Allocator: checked}
	w := newWorld(total)
	q, src, _ := w.query()
	rejected := &ledger{store: w.sink, suffix: "-rejected"}
	q.Sources, q.Alloc = []sources.Source{&wide{numbers: src, alloc: alloc, rejectEvery: rejectEvery}}, alloc
	q.Transforms, q.Parallelism, q.Limit.Rows = ops, 4, limit
	q.OnError, q.Rejected = RejectRows, rejected
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	bad := int64(0)
	if rejectEvery > 0 {
		bad = total / rejectEvery
	}
	if got := int64(len(w.rows(t))); got != total-bad {
		t.Errorf("%d rows, want %d", got, total-bad)
	}
	all, err := rejected.entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range all {
		for _, p := range e.Texts {
			if seen[p] {
				t.Errorf("row %s is rejected twice", p)
			}
			seen[p] = true
		}
	}
	if int64(len(seen)) != bad {
		t.Errorf("%d rejected rows, want %d", len(seen), bad)
	}
	return alloc.max.Load()
}

// TestMemoryIsBoundedByPartsInFlightNotByTheBatch: ten times the rows in a batch hold no more memory, read ahead or exchanged to one part.
func TestMemoryIsBoundedByPartsInFlightNotByTheBatch(t *testing.T) {
	for _, c := range []struct {
		name string
		ops  []transforms.Operator
	}{
		{"parts", nil},
		{"an exchange to one part", []transforms.Operator{together{}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			const chunk = 140 << 10         // of 1,000 rows, as it is built
			const bound = 2 * 4 * 4 * chunk // this batch and the next, 4 parts, 4 chunks on the way in each
			for _, limit := range []int64{20_000, 200_000} {
				most := runWide(t, 400_000, limit, 0, c.ops...)
				t.Logf("at most %d kB of %d kB in batches of %d rows", most>>10, limit/1000*chunk>>10, limit)
				if most > bound {
					t.Errorf("batches of %d rows held %d bytes at once, more than the parts in flight, %d", limit, most, bound)
				}
			}
		})
	}
}

// TestManyRejectedRowsGoThroughAFile: beyond 8 MiB of them memory does not grow, and each is committed once.
func TestManyRejectedRowsGoThroughAFile(t *testing.T) {
	most := runWide(t, 40_000, 40_000, 10) // 4,000 rows of 10 kB
	if most > 4*rejectsInMemory {
		t.Errorf("%d bytes held at once for 40 MB of rejected rows", most)
	}
}

func TestRejectedRowsThatCannotBeSpooledAreAnErrorWithThePlace(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	t.Setenv("TMPDIR", gone)
	w := newWorld(10)
	q, _, _ := w.query()
	q.OnError, q.Alloc = RejectRows, memory.DefaultAllocator
	r := newRejects(&q, Work{})
	defer r.close()
	err := r.add([]batch.Rejected{{Raw: make([]byte, rejectsInMemory+1)}})
	if !errcode.Has(err, errcode.SpoolFailed) || !strings.Contains(err.Error(), gone) {
		t.Error(err)
	}
}

func TestTheNextRangeIsReadAheadOnceWhileABatchCommits(t *testing.T) {
	w := newWorld(50)
	q, src, _ := w.query()
	s := &altered{numbers: src, opened: map[string]int{}}
	q.Sources = []sources.Source{s}
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.checkRows(t, 50)
	if len(s.opened) != 5 {
		t.Errorf("opened %v", s.opened)
	}
	for r, n := range s.opened {
		if n != 1 {
			t.Errorf("range %s was opened %d times: what was read ahead was thrown away", r, n)
		}
	}
}

// TestWhatIsReadAheadNeverCounts: whatever happens to the plan or the rows that were prefetched, or to the batch that commits meanwhile, the rows are
// exact, what was read ahead is freed, and nothing of it is durable.
func TestWhatIsReadAheadNeverCounts(t *testing.T) {
	away := errcode.BatchTimeout.New("", "away")
	for _, c := range []struct {
		name string
		set  func(*Query, *wide, *hooked)
	}{
		{"the plan ahead fails: it is planned again when its turn comes", func(q *Query, s *wide, h *hooked) {
			q.MaxRestarts = -1
			n := 0
			h.staged = func() {
				if n++; n == 2 {
					s.planErr = []error{away}
				}
			}
		}},
		{"the rows ahead break off: the batch is tried again", func(_ *Query, s *wide, h *hooked) {
			n := 0
			h.staged = func() {
				if n++; n == 2 {
					s.broken.Store(1)
				}
			}
		}},
		{"the batch's commit is lost: the plan ahead is dropped", func(_ *Query, _ *wide, h *hooked) {
			h.results, h.skip = []sinks.Result{{Outcome: sinks.Uncertain}}, []bool{true}
		}},
		{"the batch is prepared again", func(_ *Query, _ *wide, h *hooked) {
			h.results, h.skip = []sinks.Result{{Outcome: sinks.Conflict, Why: errors.New("schema")}}, []bool{true}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
			defer alloc.AssertSize(t, 0)
			w := newWorld(20_000)
			q, src, sink := w.query()
			s, h := &wide{numbers: src, alloc: alloc}, &hooked{ledger: sink}
			q.Sources, q.Sink, q.Limit.Rows = []sources.Source{s}, h, 5000
			c.set(&q, s, h)
			if err := q.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.checkRows(t, 20_000)
		})
	}
}

// slowPlans is a source whose server does not answer any more, from its second plan on.
type slowPlans struct{ *numbers }

func (s slowPlans) Plan(ctx context.Context, from ident.Offset, limit sources.Limit) (sources.Planned, error) {
	if s.planned > 0 {
		<-ctx.Done()
		return sources.Planned{}, ctx.Err()
	}
	return s.numbers.Plan(ctx, from, limit)
}

func TestAStopWhileThePlanAheadIsWaitedForEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(20)
		q, src, _ := w.query()
		q.Trigger, q.Sources = Trigger{}, []sources.Source{slowPlans{src}}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, stop)
		began := time.Now()
		if err := q.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it ended after %s", took)
		}
		w.checkRows(t, 10)
	})
}

// TestAFailureWhileTheNextRangeIsReadAheadLeavesOnlyTheBatch: the process ends in the middle of a commit; the range ahead is nowhere.
func TestAFailureWhileTheNextRangeIsReadAheadLeavesOnlyTheBatch(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer alloc.AssertSize(t, 0)
	w := newWorld(20_000)
	q, src, sink := w.query()
	sink.results, sink.skip = []sinks.Result{{Outcome: sinks.Fenced, Why: errors.New("epoch 9")}}, []bool{true}
	q.Sources, q.Limit.Rows = []sources.Source{&wide{numbers: src, alloc: alloc}}, 5000
	if err := q.Run(t.Context()); !errcode.Has(err, errcode.DriverFenced) {
		t.Fatalf("error %v", err)
	}
	for info := range w.checkpoint.List(t.Context(), "offsets/", "") {
		if info.Key != "offsets/0" {
			t.Errorf("%s was fixed", info.Key)
		}
	}
	w.checkRows(t, 0)
}

// held is a source that has nothing in a batch and plans on when the batch is prepared for the second time.
type held struct {
	*numbers
	again <-chan struct{}
}

func (s held) Plan(ctx context.Context, from ident.Offset, limit sources.Limit) (sources.Planned, error) {
	if s.planned > 0 { // the first is the batch's own
		select {
		case <-s.again:
		case <-ctx.Done():
			return sources.Planned{}, ctx.Err()
		}
	}
	return s.numbers.Plan(ctx, from, limit)
}

// TestABatchIsPreparedAgainWhileASourceWithNothingInItPlansAhead: for that source the range ahead begins where its part of the batch does. It must not be asked for
// what is not there yet.
func TestABatchIsPreparedAgainWhileASourceWithNothingInItPlansAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(10)
		q, src, sink := w.query()
		q.Trigger = Trigger{}
		again := make(chan struct{})
		prepared := 0
		h := hooked{ledger: sink, staged: func() {
			if prepared++; prepared == 2 {
				close(again)
			}
		}}
		sink.results, sink.skip = []sinks.Result{{Outcome: sinks.Conflict, Why: errors.New("schema")}}, []bool{true}
		q.Sources, q.Sink = []sources.Source{held{&numbers{}, again}, src}, h
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := q.Run(ctx); err != nil {
			t.Fatal(err)
		}
		w.checkRows(t, 10)
	})
}
