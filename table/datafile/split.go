package datafile

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
)

// piece are the rows of a record that belong to one partition, or to several that wait in one bucket of the spill.
type piece struct {
	key    string // tells partitions apart
	values []*string
	bucket int               // none: a partition's
	rec    arrow.RecordBatch // with the partition columns; owned by who has the piece
}

// none is no bucket.
const none = -1

// splitter divides records of one schema by their partition columns.
type splitter struct {
	columns []int // of the partition columns, in their order; -1 for one that is missing
	rest    []int // of the others
	schema  *arrow.Schema
	alloc   memory.Allocator
}

// newSplitter finds the partition columns in a schema, without regard to case. One that is missing is null in all rows.
func newSplitter(s *arrow.Schema, by []string, alloc memory.Allocator) *splitter {
	sp := &splitter{alloc: alloc}
	for _, name := range by {
		sp.columns = append(sp.columns, slices.IndexFunc(s.Fields(), func(f arrow.Field) bool { return strings.EqualFold(f.Name, name) }))
	}
	var fields []arrow.Field
	for i, f := range s.Fields() {
		if !slices.Contains(sp.columns, i) {
			sp.rest = append(sp.rest, i)
			fields = append(fields, f)
		}
	}
	sp.schema = arrow.NewSchema(fields, nil)
	return sp
}

// split divides a record, which stays the caller's. The pieces are in order of their first rows, the rows of each in order. bucketsOf says which partitions wait in a
// bucket of the spill: all of a bucket are one piece, because there may be thousands of them with a few rows each.
func (s *splitter) split(ctx context.Context, rec arrow.RecordBatch, bucketsOf func(keys []string) []int) ([]piece, error) {
	g := s.group(rec)
	g.merge(bucketsOf(g.keys))
	sorted := rec
	if g.runs > len(g.parts) {
		var err error
		if sorted, err = s.take(ctx, rec, g); err != nil {
			return nil, err
		}
		defer sorted.Release()
	}
	from := int64(0)
	for i := range g.parts {
		p := &g.parts[i]
		to := from + int64(g.counts[i])
		p.rec = sorted.NewSlice(from, to)
		if p.bucket == none {
			p.values = s.values(p.rec)
		}
		from = to
	}
	return g.parts, nil
}

// groups says which part of the record each row belongs to, by number in order of the first rows.
type groups struct {
	of     []int32
	keys   []string // of the partitions
	counts []int    // rows of each partition, then of each part
	parts  []piece  // what merge makes of the partitions
	runs   int      // stretches of rows of the same partition; as many as parts if the rows are sorted already
}

// merge puts the partitions of each bucket together.
func (g *groups) merge(buckets []int) {
	var parts []piece
	var counts []int
	number := make([]int32, len(g.keys)) // of the part that a partition is in
	merged := map[int]int32{}            // of the part that a bucket is
	for i, key := range g.keys {
		n, ok := merged[buckets[i]]
		if !ok {
			n = int32(len(parts))
			parts, counts = append(parts, piece{key: key, bucket: buckets[i]}), append(counts, 0)
			if buckets[i] != none {
				merged[buckets[i]] = n
			}
		}
		number[i] = n
		counts[n] += g.counts[i]
	}
	if len(parts) < len(g.keys) {
		for row, of := range g.of {
			g.of[row] = number[of]
		}
	}
	g.parts, g.counts = parts, counts
}

func (s *splitter) group(rec arrow.RecordBatch) groups {
	n := int(rec.NumRows())
	g := groups{of: make([]int32, n)}
	var encode []func([]byte, int) []byte
	for _, c := range s.columns {
		if c >= 0 {
			encode = append(encode, keyEncoder(rec.Column(c)))
		}
	}
	numbers := map[string]int32{}
	var key, last []byte
	current := int32(-1)
	for row := range n {
		key = key[:0]
		for _, e := range encode {
			key = e(key, row)
		}
		if current < 0 || string(key) != string(last) {
			number, ok := numbers[string(key)]
			if !ok {
				number = int32(len(g.keys))
				text := string(key)
				numbers[text] = number
				g.keys, g.counts = append(g.keys, text), append(g.counts, 0)
			}
			current, g.runs = number, g.runs+1
			key, last = last, key
		}
		g.of[row] = current
		g.counts[current]++
	}
	return g
}

// keyEncoder appends a value to a key so that keys are equal if and only if the values are the same partition.
func keyEncoder(a arrow.Array) func([]byte, int) []byte {
	if s, ok := a.(*array.String); ok {
		return func(key []byte, row int) []byte {
			if s.IsNull(row) {
				return append(key, 0, 0, 0, 0) // the same as an empty string
			}
			v := s.Value(row)
			key = binary.LittleEndian.AppendUint32(key, uint32(len(v)))
			return append(key, v...)
		}
	}
	if b, ok := a.(*array.Boolean); ok {
		return func(key []byte, row int) []byte {
			switch {
			case b.IsNull(row):
				return append(key, 2)
			case b.Value(row):
				return append(key, 1)
			}
			return append(key, 0)
		}
	}
	width := a.DataType().(arrow.FixedWidthDataType).Bytes()
	data := a.Data().Buffers()[1].Bytes()[a.Data().Offset()*width:]
	bits := func(key []byte, row int) []byte {
		if a.IsNull(row) {
			return append(key, 0)
		}
		return append(append(key, 1), data[row*width:(row+1)*width]...)
	}
	isNaN := nanOf(a)
	if isNaN == nil || bugs.Is(bugs.NaNSplit) {
		return bits
	}
	return func(key []byte, row int) []byte {
		if a.IsValid(row) && isNaN(row) {
			return append(key, 2)
		}
		return bits(key, row)
	}
}

// nanOf finds the NaNs of a column, which have many forms and one text; nil for a column that cannot have any.
func nanOf(a arrow.Array) func(row int) bool {
	switch a := a.(type) {
	case *array.Float32:
		return func(row int) bool { return math.IsNaN(float64(a.Value(row))) }
	case *array.Float64:
		return func(row int) bool { return math.IsNaN(a.Value(row)) }
	}
	return nil
}

// take is the record with its rows in order of their groups.
func (s *splitter) take(ctx context.Context, rec arrow.RecordBatch, g groups) (arrow.RecordBatch, error) {
	next := make([]int, len(g.counts))
	for i, sum := 0, 0; i < len(next); i++ {
		next[i], sum = sum, sum+g.counts[i]
	}
	order := make([]int32, len(g.of))
	for row, group := range g.of {
		order[next[group]] = int32(row)
		next[group]++
	}
	return Take(ctx, rec, order, s.alloc)
}

// values are the partition values of a record that has one partition only.
func (s *splitter) values(rec arrow.RecordBatch) []*string {
	out := make([]*string, len(s.columns))
	for i, c := range s.columns {
		if c >= 0 {
			out[i] = partitionText(rec.Column(c), 0)
		}
	}
	return out
}

// readable refuses a value whose text in the log nobody could read as that value again: a year of five digits makes one. A table that held it could not be read at all.
func (s *splitter) readable(p piece) error {
	if s == nil {
		return nil
	}
	for i, c := range s.columns {
		if c < 0 || p.values[i] == nil {
			continue
		}
		field := p.rec.Schema().Field(c)
		a, err := constant(field.Type, p.values[i], 1, memory.DefaultAllocator)
		if err != nil {
			return errcode.TablePartitionValue.Wrap(err, "column "+field.Name, "the value %.40q cannot be read back from a log", *p.values[i])
		}
		a.Release()
	}
	return nil
}

// project is the record without the partition columns. The caller releases it.
func (s *splitter) project(rec arrow.RecordBatch) arrow.RecordBatch {
	columns := make([]arrow.Array, len(s.rest))
	for i, c := range s.rest {
		columns[i] = rec.Column(c)
	}
	return array.NewRecordBatch(s.schema, columns, rec.NumRows())
}

// FileSchema is the schema of the files of a table: its own without the partition columns.
func FileSchema(table *arrow.Schema, partitionBy []string) *arrow.Schema {
	return newSplitter(table, partitionBy, nil).schema
}
