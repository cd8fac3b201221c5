package sql

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/internal/duck"
	"microbatch/internal/recycle"
)

// Of rows that a condition drops DuckDB says nothing, so a record is held until a row of a later one comes back. When this much is held, the query's input
// ends, which brings all rows back, and the query is run again on what comes after. A condition that drops nearly all rows costs a query for each 16
// chunks by that, which is a twentieth of the time they take.
const (
	heldRows  = 16 * batch.TargetRows
	heldBytes = 2 * batch.TargetBytes
)

// gather is a run by a plan with a bypass: it numbers the rows for DuckDB, and puts the columns of the rows that are left beside what DuckDB computed.
type gather struct {
	*run
	mem    memory.Allocator  // of what is filled here, byte by byte
	ahead  arrow.RecordBatch // what a query begins with
	mu     sync.Mutex        // of held and the sums below it: DuckDB may read in a thread of its own
	held   []numbered        // what DuckDB has read, oldest first
	rows   int64
	bytes  int64
	number int64 // of the next row

	last       int64               // number of the last row that came back
	spans      []span              // of held[0]: the rows that came back
	computed   []arrow.RecordBatch // beside them
	pieces     []arrow.RecordBatch // of the result, together too small for a chunk
	pieceRows  int64
	pieceBytes int64
}

// numbered is a record that DuckDB has read, and the number of its first row.
type numbered struct {
	record arrow.RecordBatch
	first  int64
	bytes  int64
}

// end is the number after its last row.
func (n numbered) end() int64 { return n.first + n.record.NumRows() }

// gather runs the query as often as it takes to read all input.
func (r *run) gather(ctx context.Context, w *worker) error {
	g := &gather{run: r, mem: r.env.Alloc, last: -1}
	if g.mem == memory.DefaultAllocator {
		g.mem = recycle.Allocator{}
	}
	defer g.release()
	for {
		var err error
		if g.ahead, err = g.next(ctx); err != nil {
			return err
		}
		if g.ahead == nil {
			return g.flush(ctx)
		}
		w.view.Feed(func() (arrow.RecordBatch, error) { return g.read(ctx) })
		rows, err := w.conn.Query(ctx, r.plan.text)
		if err != nil {
			return err
		}
		err = g.takeAll(ctx, rows)
		rows.Close()
		if err != nil {
			return err
		}
		if g.ahead != nil { // a condition on the batch's time is false: the query reads nothing
			return g.flush(ctx)
		}
	}
}

// read gives DuckDB the next record, as long as not too much is held.
func (g *gather) read(ctx context.Context) (arrow.RecordBatch, error) {
	rec := g.ahead
	g.ahead = nil
	if rec == nil && g.full() {
		return nil, nil
	}
	if rec == nil {
		var err error
		if rec, err = g.next(ctx); rec == nil {
			return nil, err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	in := numbered{rec, g.number, sizeOf(rec)}
	g.held, g.rows, g.bytes, g.number = append(g.held, in), g.rows+rec.NumRows(), g.bytes+in.bytes, in.end()
	return g.withNumbers(in), nil
}

func (g *gather) full() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rows >= heldRows || g.bytes >= heldBytes
}

// withNumbers is the record as the view has it.
func (g *gather) withNumbers(in numbered) arrow.RecordBatch {
	rows := int(in.record.NumRows())
	b := newBuffer(g.mem, arrow.Int64Traits.BytesRequired(rows))
	defer b.Release()
	for i, values := 0, arrow.Int64Traits.CastFromBytes(b.Bytes()); i < rows; i++ {
		values[i] = in.first + int64(i)
	}
	data := array.NewData(arrow.PrimitiveTypes.Int64, rows, []*memory.Buffer{nil, b}, nil, 0, 0)
	defer data.Release()
	numbers := array.NewInt64Data(data)
	defer numbers.Release()
	columns := slices.Clone(in.record.Columns())
	columns[g.plan.bypass.numbers] = numbers
	return array.NewRecordBatch(g.plan.bypass.view, columns, in.record.NumRows())
}

// takeAll takes what one query returns.
func (g *gather) takeAll(ctx context.Context, rows *duck.Rows) error {
	for {
		rec, err := rows.Next()
		if err != nil {
			return err
		}
		if rec == nil {
			break
		}
		err = g.take(ctx, rec)
		rec.Release()
		if err != nil {
			return err
		}
	}
	for len(g.held) > 0 {
		if err := g.finish(ctx); err != nil {
			return err
		}
	}
	return nil
}

// take deals the rows of one record of DuckDB out to the records of the input that they come from. The bypass stands and falls with their order.
func (g *gather) take(ctx context.Context, rec arrow.RecordBatch) error {
	numbers := rec.Column(0).(*array.Int64).Int64Values()
	for _, n := range numbers {
		if n <= g.last {
			return fmt.Errorf("sql: row %d came after row %d", n, g.last)
		}
		g.last = n
	}
	for at := 0; at < len(numbers); {
		in, ok := g.oldest()
		if !ok {
			return fmt.Errorf("sql: row %d came, and there is none", numbers[at])
		}
		next := at + sort.Search(len(numbers)-at, func(i int) bool { return numbers[at+i] >= in.end() })
		if next > at {
			g.spans = addSpans(g.spans, numbers[at:next], in.first)
			g.computed = append(g.computed, rec.NewSlice(int64(at), int64(next)))
		}
		if at = next; at < len(numbers) {
			if err := g.finish(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *gather) oldest() (numbered, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.held) == 0 {
		return numbered{}, false
	}
	return g.held[0], true
}

// finish makes a piece of the result from what is left of held[0], and lets go of it.
func (g *gather) finish(ctx context.Context) error {
	g.mu.Lock()
	in := g.held[0]
	g.held, g.rows, g.bytes = g.held[1:], g.rows-in.record.NumRows(), g.bytes-in.bytes
	g.mu.Unlock()
	defer in.record.Release()
	if len(g.spans) == 0 {
		return nil
	}
	piece, err := g.piece(ctx, in.record)
	if err != nil {
		return err
	}
	release(g.computed)
	g.computed, g.spans = g.computed[:0], g.spans[:0]
	g.pieces, g.pieceRows, g.pieceBytes = append(g.pieces, piece), g.pieceRows+piece.NumRows(), g.pieceBytes+in.bytes*piece.NumRows()/in.record.NumRows()
	if g.pieceRows >= batch.TargetRows/4 || g.pieceBytes >= batch.TargetBytes/4 {
		return g.flush(ctx)
	}
	return nil
}

// piece is the result for the rows of a record that are left.
func (g *gather) piece(ctx context.Context, in arrow.RecordBatch) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, 0, len(g.plan.bypass.from))
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	rows, next := countRows(g.spans), 1 // of DuckDB's columns, after the numbers
	for i, from := range g.plan.bypass.from {
		t := g.plan.out.Field(i).Type
		var c arrow.Array
		var err error
		if from < 0 {
			c, err = joinColumn(g.computed, next, t, g.env.Alloc)
			next++
		} else {
			c, err = g.passed(ctx, in.Column(from), rows, t)
		}
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return array.NewRecordBatch(g.plan.out, columns, int64(rows)), nil
}

// passed is the rows of a column that are left: a copy, unless they are one stretch of most of its rows, so that a few rows do not hold the memory of many.
func (g *gather) passed(ctx context.Context, a arrow.Array, rows int, t arrow.DataType) (arrow.Array, error) {
	var kept arrow.Array
	if len(g.spans) == 1 && 2*rows > a.Len() {
		kept = array.NewSlice(a, int64(g.spans[0].from), int64(g.spans[0].to))
	} else if copied := take(a, g.spans, rows, g.mem); copied != nil {
		kept = copied
	} else {
		var err error
		if kept, err = takeByKernel(ctx, a, g.spans, rows, g.env.Alloc); err != nil {
			return nil, err
		}
	}
	defer kept.Release()
	return retype(kept, t), nil
}

// flush sends the pieces as one chunk.
func (g *gather) flush(ctx context.Context) error {
	if len(g.pieces) == 0 {
		return nil
	}
	rec := g.pieces[0]
	if len(g.pieces) > 1 {
		var err error
		if rec, err = join(g.pieces, g.plan.out, g.env.Alloc); err != nil {
			return err
		}
		release(g.pieces)
	}
	g.pieces, g.pieceRows, g.pieceBytes = g.pieces[:0], 0, 0
	return g.send(ctx, rec)
}

func (g *gather) release() {
	if g.ahead != nil {
		g.ahead.Release()
	}
	for _, in := range g.held {
		in.record.Release()
	}
	release(g.computed)
	release(g.pieces)
}

// sizeOf is how many bytes a record holds, which for a slice of another one are those of the other one.
func sizeOf(rec arrow.RecordBatch) (bytes int64) {
	for _, c := range rec.Columns() {
		bytes += dataSize(c.Data())
	}
	return bytes
}

func dataSize(d arrow.ArrayData) (bytes int64) {
	for _, b := range d.Buffers() {
		if b != nil {
			bytes += int64(b.Len())
		}
	}
	for _, child := range d.Children() {
		bytes += dataSize(child)
	}
	return bytes
}
