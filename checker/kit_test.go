package checker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/engine"
	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/objstore"
	"microbatch/objstore/mem"
	"microbatch/sinks/lakehouse"
	"microbatch/sources"
	"microbatch/table"
	"microbatch/table/maintain"
	"microbatch/table/translog"
	"microbatch/transforms"
	"microbatch/transforms/project"
)

// world is a query of integers in memory: 0..total-1 go from a source with one partition into a table. Numbers that end in 7 are filtered, those that end in 3
// are rejected.
type world struct {
	t                           *testing.T
	format                      Format
	table, rejected, checkpoint *mem.Store
	partitionBy                 []string
}

func newWorld(t *testing.T, format Format) *world {
	return &world{t: t, format: format, table: mem.New(), rejected: mem.New(), checkpoint: mem.New()}
}

// clone is the same world apart.
func (w *world) clone(t *testing.T) *world {
	t.Helper()
	c := newWorld(t, w.format)
	for _, s := range [][2]*mem.Store{{w.table, c.table}, {w.rejected, c.rejected}, {w.checkpoint, c.checkpoint}} {
		for _, key := range keys(t, s[0], "") {
			data, err := s[0].Get(t.Context(), key)
			if err == nil {
				err = s[1].Put(t.Context(), key, data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}

// run starts a driver that goes on to total, some rows a batch, and stops.
func (w *world) run(total, rows int64) {
	w.t.Helper()
	if err := w.query(total, rows).Run(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// query is that driver.
func (w *world) query(total, rows int64) engine.Query {
	w.t.Helper()
	sink := func(store objstore.Store, suffix string, by []string) *lakehouse.Sink {
		s, err := lakehouse.New(lakehouse.Config{Store: store, Format: string(w.format), PartitionBy: by, AppSuffix: suffix, TempDir: w.t.TempDir()})
		if err != nil {
			w.t.Fatal(err)
		}
		return s
	}
	return engine.Query{
		Name: "numbers", Sources: []sources.Source{&numbers{total: total}}, Transforms: []transforms.Operator{project.NewFilter("digit <> 7")},
		Sink: sink(w.table, "", w.partitionBy), Rejected: sink(w.rejected, "/rejected", nil), Checkpoint: w.checkpoint, Trigger: engine.Trigger{Once: true},
		Limit: sources.Limit{Rows: rows}, MaxRestarts: -1, Parallelism: 1,
	}
}

// open opens the table with the real reader.
func (w *world) open() *table.Table {
	w.t.Helper()
	tbl, err := table.Open(w.t.Context(), w.table, table.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	return tbl
}

// sum writes a log checkpoint of the newest version.
func (w *world) sum() {
	w.t.Helper()
	log := w.open().Log()
	state, err := log.Load(w.t.Context(), translog.Latest)
	if err == nil {
		_, err = log.WriteCheckpoint(w.t.Context(), state)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) optimize() {
	w.t.Helper()
	if _, err := w.open().Optimize(w.t.Context(), maintain.OptimizeOptions{Force: true}); err != nil {
		w.t.Fatal(err)
	}
}

// input is all that the checker can be told.
func (w *world) input() Input {
	return Input{
		Table: w.table, Rejected: w.rejected, Checkpoint: w.checkpoint, IDs: []string{"n"}, Model: model,
		Foreign: func(*Version) bool { return false }, Orphan: func(OrphanFile) bool { return false },
	}
}

// check verifies everything.
func (w *world) check(in Input) *Report {
	w.t.Helper()
	r, err := Check(w.t.Context(), in)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// keys are the keys of a store that contain a text.
func keys(t *testing.T, s objstore.Store, part string) (keys []string) {
	t.Helper()
	for info, err := range s.List(t.Context(), part, "") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

// data are the keys of the data files.
func data(t *testing.T, s objstore.Store) []string {
	return slices.DeleteFunc(keys(t, s, ""), func(key string) bool { return !isData(key) })
}

// edit changes an object.
func edit(t *testing.T, s objstore.Store, key string, change func(text string) string) {
	t.Helper()
	text, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if after := change(string(text)); after == string(text) {
		t.Fatalf("%s is not changed: %s", key, text)
	} else if err := s.Put(t.Context(), key, []byte(after)); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, s objstore.Store, key string) {
	t.Helper()
	if _, err := s.Stat(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
}

// model is what the query should do.
func model(from, to []string) (e Expect, err error) {
	first, last := int64(0), int64(0)
	if from != nil {
		first, err = strconv.ParseInt(from[0], 10, 64)
	}
	if err == nil {
		last, err = strconv.ParseInt(to[0], 10, 64)
	}
	for n := first; n < last; n++ {
		e.In++
		switch {
		case n%10 == 3:
			e.Rejected = append(e.Rejected, fmt.Sprint("n-", n))
		case n%10 == 7:
			e.Filtered++
		default:
			e.Out = append(e.Out, strconv.FormatInt(n, 10))
		}
	}
	return e, err
}

// numbers is a source of integers, whose offset is the next one.
type numbers struct {
	total int64
	own   objstore.Store
}

func (s *numbers) Describe() ident.Description {
	return ident.Description{Kind: "numbers", Name: "numbers", Identity: map[string]any{"kind": "integers"}}
}
func (s *numbers) Open(_ context.Context, own objstore.Store) error { s.own = own; return nil }
func (s *numbers) Pin(ctx context.Context) error {
	if err := s.own.PutIfAbsent(ctx, "0", []byte("v1\n0")); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
func (s *numbers) Schema() *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "digit", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
}
func (s *numbers) Plan(_ context.Context, from ident.Offset, limit sources.Limit) (sources.Planned, error) {
	at := numberOf(from)
	to := min(s.total, at+limit.Rows)
	return sources.Planned{To: offset(to), Available: offset(s.total), Rows: to - at, Behind: s.total - to}, nil
}
func (s *numbers) Freeze(context.Context) error             { return nil }
func (s *numbers) Guarantee(context.Context) guarantee.Link { return guarantee.Link{} }
func (s *numbers) Splits(_ context.Context, from, to ident.Offset, _ map[string]string, _ int) ([]sources.Split, error) {
	return []sources.Split{&split{s, numberOf(from), numberOf(to)}}, nil
}
func (s *numbers) Release(context.Context, ident.Offset) error { return nil }
func (s *numbers) Close() error                                { return nil }

type split struct {
	s        *numbers
	from, to int64
}

func (p *split) Records(context.Context) batch.Stream {
	return func(yield func(batch.Chunk, error) bool) {
		b := array.NewRecordBuilder(memory.DefaultAllocator, p.s.Schema())
		defer b.Release()
		var c batch.Chunk
		for n := p.from; n < p.to; n++ {
			if n%10 == 3 {
				c.Rejected = append(c.Rejected, batch.Rejected{Position: fmt.Sprint("n-", n), Reason: "MB3001 bad", Raw: []byte("x")})
				continue
			}
			b.Field(0).(*array.Int64Builder).Append(n)
			b.Field(1).(*array.Int64Builder).Append(n % 10)
		}
		c.Record = b.NewRecordBatch()
		yield(c, nil)
	}
}
func (p *split) Reached() sources.Position {
	return sources.Position{Rows: p.to - p.from, Units: []sources.Unit{{Name: "n", Want: p.to - p.from, Covered: p.to - p.from}}}
}

func numberOf(o ident.Offset) int64 {
	n, _ := strconv.ParseInt(string(o), 10, 64)
	return n
}

func offset(n int64) ident.Offset { return ident.Offset(strconv.FormatInt(n, 10)) }
