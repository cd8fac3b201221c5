//go:build services

package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/codec/json"
	"microbatch/ident"
	"microbatch/schema"
	"microbatch/sinks"
	"microbatch/sinks/sinktest"
)

func ddl(t *testing.T, text string) *arrow.Schema {
	t.Helper()
	s, err := schema.ParseDDL(text)
	must(t, err)
	return s
}

// rowsOf is a part of rows that are written as JSON, one a line.
func rowsOf(t *testing.T, s *arrow.Schema, alloc memory.Allocator, lines string) batch.Part {
	t.Helper()
	d, err := json.New(json.Options{}).NewDecoder(s, alloc)
	must(t, err)
	defer d.Release()
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		must(t, d.Decode([]byte(line)))
	}
	record := d.Flush()
	t.Cleanup(record.Release)
	return batch.PartFunc(func(context.Context) batch.Stream {
		return func(yield func(batch.Chunk, error) bool) {
			record.Retain()
			yield(batch.Chunk{Record: record}, nil)
		}
	})
}

// put stages and commits a batch of parts that are written as JSON. It returns what was rejected.
func put(t *testing.T, s *Sink, rows *arrow.Schema, id ident.BatchID, parts ...string) (rejected []batch.Rejected) {
	t.Helper()
	b, p, err := stage(t, s, rows, id, &rejected, parts...)
	must(t, err)
	r, err := s.Commit(t.Context(), p)
	must(t, err)
	if r.Outcome != sinks.Committed {
		t.Fatalf("batch %s: %s (%v)", b.ID, r.Outcome, r.Why)
	}
	return rejected
}

func stage(t *testing.T, s *Sink, rows *arrow.Schema, id ident.BatchID, rejected *[]batch.Rejected, parts ...string) (*batch.Batch, sinks.Pending, error) {
	t.Helper()
	entry := sinktest.Entry(id, "a")
	b := &batch.Batch{
		ID: id, Attempt: ident.NewAttempt(), Digest: ident.DigestOf(entry), Timestamp: time.UnixMilli(1_700_000_000_000), Entry: entry, Schema: rows,
		Reject: func(r batch.Rejected) { *rejected = append(*rejected, r) },
	}
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	t.Cleanup(func() { alloc.AssertSize(t, 0) }) // after the records are released
	for _, lines := range parts {
		b.Parts = append(b.Parts, rowsOf(t, rows, alloc, lines))
	}
	p, err := s.Prepare(t.Context(), b)
	return b, p, err
}
