package sinktest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/sinks"
)

// Schema is the schema of the suite's batches: id BIGINT, name STRING.
func Schema() *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
}

// Entry is the text of an offsets entry of a batch, different for each of the tellings of its content.
func Entry(id ident.BatchID, telling string) []byte {
	return []byte("v1\n{\"telling\":\"" + telling + "\"}\n{\"" + id.String() + "\":0}")
}

// Batch is a batch with rows, each part in a chunk of its own.
func Batch(id ident.BatchID, telling string, alloc memory.Allocator, parts ...[]int64) *batch.Batch {
	entry := Entry(id, telling)
	b := &batch.Batch{
		ID: id, Attempt: ident.NewAttempt(), Digest: ident.DigestOf(entry), Timestamp: time.UnixMilli(1_700_000_000_000), Entry: entry, Schema: Schema(),
	}
	for _, ids := range parts {
		b.Parts = append(b.Parts, Rows(alloc, ids...))
	}
	return b
}

// Rows is a part with one chunk.
func Rows(alloc memory.Allocator, ids ...int64) batch.Part {
	return batch.PartFunc(func(context.Context) batch.Stream {
		return func(yield func(batch.Chunk, error) bool) {
			b := array.NewRecordBuilder(alloc, Schema())
			defer b.Release()
			for _, id := range ids {
				b.Field(0).(*array.Int64Builder).Append(id)
				b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("row %d", id))
			}
			yield(batch.Chunk{Record: b.NewRecordBatch()}, nil)
		}
	})
}

var errBroken = errors.New("the source broke")

// broken is a part that fails after its first chunk.
func broken(alloc memory.Allocator, ids ...int64) batch.Part {
	good := Rows(alloc, ids...)
	return batch.PartFunc(func(ctx context.Context) batch.Stream {
		return func(yield func(batch.Chunk, error) bool) {
			for c, err := range good.Chunks(ctx) {
				if !yield(c, err) {
					return
				}
			}
			yield(batch.Chunk{}, errBroken)
		}
	})
}

// Query is a driver's claim of an epoch.
func Query(id ident.QueryID, epoch ident.Epoch) sinks.QueryInfo {
	return sinks.QueryInfo{
		ID: id, Name: "conformance", Epoch: epoch, Entry: ident.EntryID{Epoch: epoch, Run: ident.NewRunID()},
		Newest: func(context.Context) (ident.Epoch, error) { return epoch, nil },
	}
}

// Driver is a sink as one driver holds it.
type Driver struct {
	T     *testing.T
	Sink  sinks.Sink
	Query sinks.QueryInfo
	Alloc memory.Allocator
}

// Start opens a sink and goes through the start of a driver: Check, Visible, Recover.
func Start(t *testing.T, h Harness, q sinks.QueryInfo, pending *sinks.Intent) *Driver {
	t.Helper()
	d := &Driver{T: t, Sink: h.Open(t), Query: q, Alloc: memory.NewGoAllocator()}
	t.Cleanup(func() {
		if err := d.Sink.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := d.Sink.Check(t.Context(), Schema()); err != nil {
		t.Fatalf("check: %v", err)
	}
	if err := d.Sink.Recover(t.Context(), q, pending); err != nil {
		t.Fatalf("recover: %v", err)
	}
	return d
}

// Prepare stages a batch.
func (d *Driver) Prepare(id ident.BatchID, telling string, parts ...[]int64) sinks.Pending {
	d.T.Helper()
	p, err := d.Sink.Prepare(d.T.Context(), Batch(id, telling, d.Alloc, parts...))
	if err != nil {
		d.T.Fatalf("prepare batch %s: %v", id, err)
	}
	return p
}

// Commit stages and commits a batch and wants an outcome. A sink that learns while it stages that the driver is fenced may say so then.
func (d *Driver) Commit(want sinks.Outcome, id ident.BatchID, telling string, parts ...[]int64) {
	d.T.Helper()
	p, err := d.Sink.Prepare(d.T.Context(), Batch(id, telling, d.Alloc, parts...))
	if want == sinks.Fenced && errcode.ClassOf(err) == errcode.Fenced {
		return
	}
	if err != nil {
		d.T.Fatalf("prepare batch %s: %v", id, err)
	}
	d.Finish(want, p)
}

// Finish commits what was staged and wants an outcome.
func (d *Driver) Finish(want sinks.Outcome, p sinks.Pending) {
	d.T.Helper()
	r, err := d.Sink.Commit(d.T.Context(), p)
	if err != nil {
		d.T.Fatalf("commit: %v", err)
	}
	if r.Outcome != want {
		d.T.Fatalf("commit: %s (%v), want %s", r.Outcome, r.Why, want)
	}
}

// Visible asks the sink.
func (d *Driver) Visible() sinks.Visible {
	d.T.Helper()
	v, err := d.Sink.Visible(d.T.Context(), d.Query)
	if err != nil {
		d.T.Fatalf("visible: %v", err)
	}
	return v
}
