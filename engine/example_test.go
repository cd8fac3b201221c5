package engine_test

import (
	"context"
	"fmt"
	"log"
	"strconv"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/engine"
	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/objstore"
	"microbatch/objstore/mem"
	"microbatch/sinks"
	"microbatch/sinks/foreachbatch"
	"microbatch/sources"
	"microbatch/sources/orders"
)

// A Go function takes each batch. It may get the same batch twice after a crash: who stores the query's and the batch's id with the effect makes that exactly once.
func Example_foreachBatch() {
	source, err := orders.New(orders.Config{Total: 2500})
	if err != nil {
		log.Fatal(err)
	}
	sink, err := foreachbatch.New(foreachbatch.Config{Func: func(ctx context.Context, b foreachbatch.Batch) error {
		rows, err := b.Rows()
		if err != nil {
			return err
		}
		defer rows.Release()
		var quantity int64
		for rows.Next() {
			r := rows.RecordBatch()
			q := r.Column(r.Schema().FieldIndices("quantity")[0]).(*array.Int32)
			for i := range q.Len() {
				quantity += int64(q.Value(i))
			}
		}
		fmt.Printf("batch %d: %d rows, quantity known: %v\n", b.ID, b.Count, quantity > 0)
		return rows.Err()
	}})
	if err != nil {
		log.Fatal(err)
	}
	err = engine.Query{
		Name: "quantities", Sources: []sources.Source{source}, Sink: sink, OnError: engine.FailQuery,
		Checkpoint: mem.New(), // a localfs or s3 store in earnest
		Trigger:    engine.Trigger{Once: true}, Limit: sources.Limit{Rows: 1000},
	}.Run(context.Background())
	fmt.Println("error:", err)
	// Output:
	// batch 0: 1000 rows, quantity known: true
	// batch 1: 1000 rows, quantity known: true
	// batch 2: 500 rows, quantity known: true
	// error: <nil>
}

// squares is a source of one's own: the squares of 0, 1, 2, ... below 1000. Its offset is the next number, so that any range can be read again.
type squares struct{ end int64 }

var squareSchema = arrow.NewSchema([]arrow.Field{{Name: "square", Type: arrow.PrimitiveTypes.Int64}}, nil)

func (s *squares) Describe() ident.Description {
	return ident.Description{Kind: "squares", Name: "squares"}
}
func (s *squares) Open(context.Context, objstore.Store) error  { return nil }
func (s *squares) Pin(context.Context) error                   { return nil } // it always begins at 0
func (s *squares) Schema() *arrow.Schema                       { return squareSchema }
func (s *squares) Freeze(context.Context) error                { return nil } // it does not grow
func (s *squares) Release(context.Context, ident.Offset) error { return nil }
func (s *squares) Close() error                                { return nil }
func (s *squares) Guarantee(context.Context) guarantee.Link {
	return guarantee.Link{Name: "squares", Reason: "any range can be read again"}
}
func (s *squares) at(o ident.Offset) int64 { n, _ := strconv.ParseInt(string(o), 10, 64); return n }
func (s *squares) Plan(_ context.Context, from ident.Offset, limit sources.Limit) (sources.Planned, error) {
	begin, end := s.at(from), s.end
	if limit.Rows > 0 {
		end = min(end, begin+limit.Rows)
	}
	offset := func(n int64) ident.Offset { return ident.Offset(strconv.FormatInt(n, 10)) }
	return sources.Planned{To: offset(end), Available: offset(s.end), Rows: end - begin, Behind: s.end - end}, nil
}
func (s *squares) Splits(_ context.Context, from, to ident.Offset, _ map[string]string, _ int) ([]sources.Split, error) {
	return []sources.Split{&squareSplit{from: s.at(from), to: s.at(to)}}, nil
}

type squareSplit struct{ from, to, read int64 }

func (s *squareSplit) Records(context.Context) batch.Stream {
	return func(yield func(batch.Chunk, error) bool) {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		defer b.Release()
		for n := s.from; n < s.to; n++ {
			b.Append(n * n)
		}
		column := b.NewArray()
		defer column.Release()
		s.read = s.to - s.from
		yield(batch.Chunk{Record: array.NewRecordBatch(squareSchema, []arrow.Array{column}, s.read)}, nil) // the receiver releases it
	}
}
func (s *squareSplit) Reached() sources.Position {
	return sources.Position{Rows: s.read, Units: []sources.Unit{{Name: "squares", Want: s.to - s.from, Covered: s.read}}}
}

// total is a sink of one's own: it adds up the column and keeps the sum together with batch, digest and epoch, so that a batch that comes again is known.
type total struct {
	state atomic.Pointer[totalState]
	query sinks.QueryInfo
}

type totalState struct {
	sum   int64
	batch ident.BatchID
	has   ident.StoredDigest
	epoch ident.Epoch
}

type addition struct {
	sum, rows int64
	batch     ident.BatchID
	has       ident.StoredDigest
}

func (a addition) Staged() sinks.Staged { return sinks.Staged{Rows: a.rows} }

func newTotal() *total {
	t := &total{}
	t.state.Store(&totalState{batch: ident.NoBatch})
	return t
}
func (t *total) Describe() ident.Description                { return ident.Description{Kind: "total", Name: "total"} }
func (t *total) Check(context.Context, *arrow.Schema) error { return nil }
func (t *total) Close() error                               { return nil }
func (t *total) Abort(context.Context, sinks.Pending) error { return nil }
func (t *total) Guarantee() guarantee.Link {
	return guarantee.Link{Name: "a sum", Reason: "sum, batch id, digest and epoch change in one step"}
}
func (t *total) Visible(context.Context, sinks.QueryInfo) (sinks.Visible, error) {
	s := t.state.Load()
	return sinks.Visible{Keeps: true, Batch: s.batch, Digest: s.has, HasDigest: s.batch >= 0, Epoch: s.epoch}, nil
}
func (t *total) Recover(_ context.Context, q sinks.QueryInfo, _ *sinks.Intent) error {
	t.query = q
	return nil
}
func (t *total) Prepare(ctx context.Context, b *batch.Batch) (sinks.Pending, error) {
	a := addition{batch: b.ID, has: b.Digest.Stored(b.ID)}
	for _, part := range b.Parts {
		for chunk, err := range part.Chunks(ctx) {
			if err != nil {
				return nil, err
			}
			for _, v := range chunk.Record.Column(0).(*array.Int64).Int64Values() {
				a.sum += v
			}
			a.rows += chunk.Rows()
			chunk.Release()
		}
	}
	return a, nil
}
func (t *total) Commit(_ context.Context, p sinks.Pending) (sinks.Result, error) {
	a := p.(addition)
	for {
		s := t.state.Load()
		switch {
		case s.epoch > t.query.Epoch:
			return sinks.Result{Outcome: sinks.Fenced, Version: -1}, nil
		case s.batch == a.batch && s.has == a.has:
			return sinks.Result{Outcome: sinks.AlreadyCommitted, Version: -1}, nil
		case s.batch >= a.batch:
			return sinks.Result{}, fmt.Errorf("batch %d is there with another digest", a.batch)
		}
		if t.state.CompareAndSwap(s, &totalState{s.sum + a.sum, a.batch, a.has, t.query.Epoch}) {
			return sinks.Result{Outcome: sinks.Committed, Version: -1}, nil
		}
	}
}

// A source and a sink of one's own, run by the engine with the guarantee that the sink gives.
func Example_ownSourceAndSink() {
	sink := newTotal()
	err := engine.Query{
		Name: "squares", Sources: []sources.Source{&squares{end: 1000}}, Sink: sink, OnError: engine.FailQuery, Checkpoint: mem.New(),
		Trigger: engine.Trigger{Once: true}, Limit: sources.Limit{Rows: 300},
	}.Run(context.Background())
	fmt.Println(sink.state.Load().sum, "after batch", sink.state.Load().batch, err)
	// Output: 332833500 after batch 3 <nil>
}
