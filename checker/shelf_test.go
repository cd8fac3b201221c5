package checker

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"microbatch/batch"
	"microbatch/engine"
	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/objstore/mem"
	"microbatch/sinks"
)

// shelf is a target in memory, and the sink that fills it.
type shelf struct {
	Position
	rows []string
	// Of the sink.
	query  sinks.QueryInfo
	before func(p sinks.Pending) error // is asked before each commit; nil: nobody
}

// clone is the same target apart.
func (s *shelf) clone() *shelf { return &shelf{Position: s.Position, rows: slices.Clone(s.rows)} }

func (s *shelf) forgetting() *shelf { s.Keeps = false; return s }

type shelfReader struct{ *shelf }

func (s shelfReader) Position(context.Context, string) (Position, error) {
	if !s.Keeps {
		return Position{}, nil
	}
	return s.shelf.Position, nil
}

func (s shelfReader) Rows(context.Context) ([]string, error) {
	if s.rows == nil {
		return nil, errors.ErrUnsupported
	}
	return slices.Clone(s.rows), nil
}

func newShelf() *shelf { return &shelf{Position: Position{Keeps: true, Batch: -1}, rows: []string{}} }

type shelved struct {
	b    *batch.Batch
	rows []string
}

func (p *shelved) Staged() sinks.Staged { return sinks.Staged{Rows: int64(len(p.rows))} }

func (s *shelf) Describe() ident.Description                { return ident.Description{Kind: "shelf", Name: "shelf"} }
func (s *shelf) Check(context.Context, *arrow.Schema) error { return nil }
func (s *shelf) Guarantee() guarantee.Link                  { return guarantee.Link{} }
func (s *shelf) Close() error                               { return nil }
func (s *shelf) Abort(context.Context, sinks.Pending) error { return nil }

func (s *shelf) Visible(context.Context, sinks.QueryInfo) (v sinks.Visible, err error) {
	v = sinks.Visible{Keeps: s.Keeps, Batch: ident.BatchID(s.Batch), Epoch: ident.Epoch(s.Epoch)}
	return v, err
}

func (s *shelf) Recover(_ context.Context, q sinks.QueryInfo, _ *sinks.Intent) error {
	s.query, s.Epoch, s.Entry = q, int64(q.Epoch), q.Entry.String()
	return nil
}

func (s *shelf) Prepare(ctx context.Context, b *batch.Batch) (sinks.Pending, error) {
	p := &shelved{b: b}
	for _, part := range b.Parts {
		for chunk, err := range part.Chunks(ctx) {
			if err != nil {
				return nil, err
			}
			for _, n := range chunk.Record.Column(0).(*array.Int64).Int64Values() {
				p.rows = append(p.rows, strconv.FormatInt(n, 10))
			}
			chunk.Release()
		}
	}
	return p, nil
}

func (s *shelf) Commit(_ context.Context, pending sinks.Pending) (sinks.Result, error) {
	p := pending.(*shelved)
	if s.before != nil {
		if err := s.before(p); err != nil {
			return sinks.Result{}, err
		}
	}
	if s.Keeps && int64(p.b.ID) <= s.Batch {
		return sinks.Result{Outcome: sinks.AlreadyCommitted, Version: -1}, nil
	}
	s.Batch, s.Digest, s.rows = int64(p.b.ID), p.b.Digest.String(), append(s.rows, p.rows...)
	return sinks.Result{Outcome: sinks.Committed, Version: -1}, nil
}

// shelfWorld is a query of integers into a shelf.
type shelfWorld struct {
	*world
	shelf *shelf
}

func newShelfWorld(t *testing.T) *shelfWorld { return &shelfWorld{newWorld(t, Parquet), newShelf()} }

func (w *shelfWorld) clone(t *testing.T) *shelfWorld {
	return &shelfWorld{w.world.clone(t), w.shelf.clone()}
}

// query is a driver that goes on to total, some rows a batch, and stops.
func (w *shelfWorld) query(total, rows int64) engine.Query {
	q := w.world.query(total, rows)
	q.Sink = w.shelf
	return q
}

func (w *shelfWorld) run(total, rows int64) {
	w.t.Helper()
	if err := w.query(total, rows).Run(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// input is all that the checker can be told.
func (w *shelfWorld) input() TargetInput {
	return TargetInput{Target: shelfReader{w.shelf}, Rejected: w.rejected, Checkpoint: w.checkpoint, Model: model}
}

func (w *shelfWorld) check(in TargetInput) *Report {
	w.t.Helper()
	r, err := CheckTarget(w.t.Context(), in)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// restored is the checkpoint without what came after a batch.
func (w *shelfWorld) restored(last int) *mem.Store {
	w.t.Helper()
	old := mem.New()
	for _, key := range keys(w.t, w.checkpoint, "") {
		var id int
		if n, err := strconv.Atoi(key[len(key)-1:]); err == nil {
			id = n
		}
		if (key[:1] == "o" || key[:1] == "c") && id > last {
			continue
		}
		text, err := w.checkpoint.Get(w.t.Context(), key)
		if err == nil {
			err = old.Put(w.t.Context(), key, text)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return old
}

func digestOf(entry string) string { return ident.DigestOf([]byte(entry)).String() }
