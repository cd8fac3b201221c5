package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/objstore/mem"
	"microbatch/sinks"
	"microbatch/sources"
)

var numberSchema = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)

// numbers is a source of the integers 0..total-1, whose offset is the next one. Every number that bad says is rejected.
type numbers struct {
	total    int64
	bad      func(int64) bool
	lose     int64 // leave this many out of each split and say so
	planErr  []error
	own      objstore.Store
	frozen   bool
	end      int64
	released ident.Offset
	planned  int
}

func (s *numbers) Describe() ident.Description {
	return ident.Description{Kind: "numbers", Name: "numbers", Identity: map[string]any{"kind": "integers"}}
}
func (s *numbers) Open(_ context.Context, own objstore.Store) error { s.own = own; return nil }
func (s *numbers) Pin(ctx context.Context) error {
	err := s.own.PutIfAbsent(ctx, "0", []byte("v1\n0"))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
func (s *numbers) Schema() *arrow.Schema { return numberSchema }
func (s *numbers) Plan(_ context.Context, from ident.Offset, limit sources.Limit) (sources.Planned, error) {
	s.planned++
	if len(s.planErr) > 0 {
		err := s.planErr[0]
		s.planErr = s.planErr[1:]
		if err != nil {
			return sources.Planned{}, err
		}
	}
	at, total := number(from), s.end
	if !s.frozen {
		total = s.total
	}
	to := total
	if limit.Rows > 0 {
		to = min(to, at+limit.Rows)
	}
	return sources.Planned{To: offset(to), Available: offset(total), Aux: map[string]string{"total": offsetText(total)}, Rows: to - at, Behind: total - to}, nil
}
func (s *numbers) Guarantee(context.Context) guarantee.Link {
	return guarantee.Link{Name: "numbers"}
}
func (s *numbers) Freeze(context.Context) error { s.frozen, s.end = true, s.total; return nil }
func (s *numbers) Splits(_ context.Context, from, to ident.Offset, _ map[string]string, want int) ([]sources.Split, error) {
	var out []sources.Split
	lo, hi := number(from), number(to)
	for i := range int64(want) {
		n := (hi - lo) / int64(want)
		a, b := lo+i*n, lo+(i+1)*n
		if i == int64(want)-1 {
			b = hi
		}
		out = append(out, &numberSplit{s: s, from: a, to: b})
	}
	return out, nil
}
func (s *numbers) Release(_ context.Context, upTo ident.Offset) error { s.released = upTo; return nil }
func (s *numbers) Close() error                                       { return nil }

func number(o ident.Offset) int64 {
	n, _ := strconv.ParseInt(string(o), 10, 64)
	return n
}
func offset(n int64) ident.Offset { return ident.Offset(offsetText(n)) }
func offsetText(n int64) string   { return strconv.FormatInt(n, 10) }

type numberSplit struct {
	s        *numbers
	from, to int64
	rows     int64
}

func (p *numberSplit) Records(ctx context.Context) batch.Stream {
	return func(yield func(batch.Chunk, error) bool) {
		const step = 7
		for at := p.from; at < p.to-p.s.lose; at += step {
			b := array.NewInt64Builder(memory.DefaultAllocator)
			var c batch.Chunk
			for n := at; n < min(at+step, p.to-p.s.lose); n++ {
				p.rows++
				if p.s.bad != nil && p.s.bad(n) {
					c.Rejected = append(c.Rejected, batch.Rejected{Position: offsetText(n), Reason: "MB3001 bad", Raw: []byte("x")})
					continue
				}
				b.Append(n)
			}
			col := b.NewArray()
			c.Record = array.NewRecordBatch(numberSchema, []arrow.Array{col}, int64(col.Len()))
			col.Release()
			if ctx.Err() != nil {
				c.Release()
				yield(batch.Chunk{}, ctx.Err())
				return
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}
func (p *numberSplit) Reached() sources.Position {
	return sources.Position{Rows: p.rows, Units: []sources.Unit{{Name: offsetText(p.from), Want: p.to - p.from, Covered: max(0, p.to-p.from-p.s.lose)}}}
}

// ledger is a sink that keeps batches in a store: one object commits/<n> per commit, with everything a table log would hold. It outlives its drivers.
type ledger struct {
	store  objstore.Store
	schema *arrow.Schema
	suffix string

	mu      sync.Mutex
	q       sinks.QueryInfo
	fail    []error        // returned by the next Prepare calls
	results []sinks.Result // returned by the next Commit calls after the commit was done (or not)
	skip    []bool         // whether the commit is left out then
	aborted int
	swept   int
}

// ledgerEntry is one commit.
type ledgerEntry struct {
	Query  ident.QueryID
	Name   string
	Batch  ident.BatchID // NoBatch: an epoch alone
	Digest ident.StoredDigest
	Epoch  ident.Epoch
	Rows   []int64
	Texts  []string
	Entry  []byte
}

func (l *ledger) Describe() ident.Description {
	return ident.Description{Kind: "ledger", Name: "the ledger" + l.suffix, Identity: map[string]any{"suffix": l.suffix}}
}
func (l *ledger) Check(context.Context, *arrow.Schema) error { return nil }

func (l *ledger) entries(ctx context.Context) (out []ledgerEntry, err error) {
	for info, err := range l.store.List(ctx, "ledger"+l.suffix+"/", "") {
		if err != nil {
			return nil, err
		}
		data, err := l.store.Get(ctx, info.Key)
		if err != nil {
			return nil, err
		}
		var e ledgerEntry
		if err := json.Unmarshal(data, &e); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func (l *ledger) Visible(ctx context.Context, q sinks.QueryInfo) (sinks.Visible, error) {
	v := sinks.Visible{Keeps: true, Batch: ident.NoBatch}
	all, err := l.entries(ctx)
	for _, e := range all {
		if e.Query != q.ID {
			if e.Name == q.Name && !slices.Contains(v.Others, e.Query) {
				v.Others = append(v.Others, e.Query)
			}
			continue
		}
		v.Epoch = max(v.Epoch, e.Epoch)
		if e.Batch > v.Batch {
			v.Batch, v.Digest, v.HasDigest = e.Batch, e.Digest, true
		}
	}
	return v, err
}

func (l *ledger) Recover(_ context.Context, q sinks.QueryInfo, _ *sinks.Intent) error {
	l.q = q
	return nil
}

type ledgerPending struct {
	e ledgerEntry
	d ident.Digest
}

func (p *ledgerPending) Staged() sinks.Staged {
	return sinks.Staged{Rows: int64(len(p.e.Rows) + len(p.e.Texts)), Files: 1}
}

func (l *ledger) Prepare(ctx context.Context, b *batch.Batch) (sinks.Pending, error) {
	if len(l.fail) > 0 {
		err := l.fail[0]
		l.fail = l.fail[1:]
		return nil, err
	}
	p := &ledgerPending{ledgerEntry{Query: l.q.ID, Name: l.q.Name, Batch: b.ID, Digest: b.Digest.Stored(b.ID), Epoch: l.q.Epoch, Entry: b.Entry}, b.Digest}
	for _, part := range b.Parts {
		for c, err := range part.Chunks(ctx) {
			if err != nil {
				return nil, err
			}
			switch col := c.Record.Column(c.Record.Schema().FieldIndices(l.column())[0]).(type) {
			case *array.Int64:
				p.e.Rows = append(p.e.Rows, col.Int64Values()...)
			case *array.String:
				for i := range col.Len() {
					p.e.Texts = append(p.e.Texts, col.Value(i))
				}
			}
			c.Release()
		}
	}
	return p, nil
}

func (l *ledger) column() string {
	if l.suffix != "" {
		return "position"
	}
	return "n"
}

func (l *ledger) put(ctx context.Context, e ledgerEntry) (sinks.Result, error) {
	for {
		all, err := l.entries(ctx)
		if err != nil {
			return sinks.Result{}, err
		}
		for _, old := range all {
			if old.Query != e.Query {
				continue
			}
			if old.Epoch > e.Epoch {
				return sinks.Result{Outcome: sinks.Fenced, Why: fmt.Errorf("epoch %d", old.Epoch)}, nil
			}
			if old.Batch == e.Batch && e.Batch != ident.NoBatch {
				if old.Digest != e.Digest {
					return sinks.Result{}, errcode.ForeignDigest.New("ledger", "batch %d", e.Batch)
				}
				return sinks.Result{Outcome: sinks.AlreadyCommitted}, nil
			}
		}
		data, err := json.Marshal(e)
		if err != nil {
			return sinks.Result{}, err
		}
		err = l.store.PutIfAbsent(ctx, fmt.Sprintf("ledger%s/%06d", l.suffix, len(all)), data)
		switch {
		case errors.Is(err, fs.ErrExist):
			continue
		case errors.Is(err, objstore.ErrUncertain):
			return sinks.Result{Outcome: sinks.Uncertain, Why: err}, nil
		case err != nil:
			return sinks.Result{}, err
		}
		return sinks.Result{Outcome: sinks.Committed, Version: int64(len(all))}, nil
	}
}

func (l *ledger) Commit(ctx context.Context, p sinks.Pending) (sinks.Result, error) {
	if len(l.results) > 0 {
		r, skip := l.results[0], l.skip[0]
		l.results, l.skip = l.results[1:], l.skip[1:]
		if !skip {
			if _, err := l.put(ctx, p.(*ledgerPending).e); err != nil {
				return sinks.Result{}, err
			}
		}
		return r, nil
	}
	return l.put(ctx, p.(*ledgerPending).e)
}
func (l *ledger) Abort(context.Context, sinks.Pending) error { l.aborted++; return nil }
func (l *ledger) Guarantee() guarantee.Link                  { return guarantee.Link{Name: "ledger"} }
func (l *ledger) Close() error                               { return nil }
func (l *ledger) Sweep(ctx context.Context, b sinks.Intent) error {
	l.swept++
	if b.Lost {
		return nil
	}
	_, err := l.EntryText(ctx, l.q, b.ID) // a sweep without a winner has nothing to compare with
	return err
}
func (l *ledger) Fence(ctx context.Context, q sinks.QueryInfo) error {
	_, err := l.put(ctx, ledgerEntry{Query: q.ID, Name: q.Name, Batch: ident.NoBatch, Epoch: q.Epoch})
	return err
}

func (l *ledger) EntryText(ctx context.Context, q sinks.QueryInfo, id ident.BatchID) ([]byte, error) {
	all, err := l.entries(ctx)
	for _, e := range all {
		if e.Query == q.ID && e.Batch == id {
			return e.Entry, err
		}
	}
	return nil, errors.Join(err, fs.ErrNotExist)
}

// world is one query's stores, which outlive its drivers.
type world struct {
	checkpoint, sink objstore.Store
	total            int64
	bad              func(int64) bool
}

func newWorld(total int64) *world {
	return &world{checkpoint: mem.New(), sink: mem.New(), total: total}
}

// query is a fresh driver's view of the world: it runs once, in batches of 10 rows.
func (w *world) query() (Query, *numbers, *ledger) {
	src, sink := &numbers{total: w.total, bad: w.bad}, &ledger{store: w.sink}
	q := Query{
		Name: "test", Sources: []sources.Source{src}, Sink: sink, OnError: DropRows, Checkpoint: w.checkpoint,
		Trigger: Trigger{Once: true}, Limit: sources.Limit{Rows: 10},
	}
	return q, src, sink
}

// rows are all rows in the sink, in order of their commits.
func (w *world) rows(t testing.TB) []int64 {
	t.Helper()
	all, err := (&ledger{store: w.sink}).entries(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var out []int64
	for _, e := range all {
		out = append(out, e.Rows...)
	}
	return out
}

// checkRows fails unless the sink holds 0..n-1 exactly once.
func (w *world) checkRows(t testing.TB, n int64) {
	t.Helper()
	got := w.rows(t)
	slices.Sort(got)
	want := make([]int64, n)
	for i := range want {
		want[i] = int64(i)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("the sink holds %v, want 0..%d once each", got, n-1)
	}
}
