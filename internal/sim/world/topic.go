package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/checker"
	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/internal/sim/gate"
	"microbatch/objstore"
	"microbatch/sources"
)

// RowSchema is what a topic's rows are: an id that no other row has, its partition, its offset, and a key that repeats.
func RowSchema() *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "part", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "seq", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "key", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
}

// RowID is the id of the row at an offset, and the position of a rejected one.
func RowID(partition int, offset int64) string { return fmt.Sprintf("%d-%d", partition, offset) }

// Topic is a partitioned log of rows in memory. It is used by one goroutine at a time: the simulation's.
type Topic struct {
	Ends []int64                                // of each partition; a new partition begins at 0
	Bad  func(partition int, offset int64) bool // rows that do not decode; nil: none
}

// Produce appends n rows to a partition.
func (t *Topic) Produce(partition int, n int64) { t.Ends[partition] += n }

// Source is the topic as a process reads it. Each plan and each split's read is an operation of the process.
func (t *Topic) Source(p *gate.Process) sources.Source { return &feed{topic: t, p: p} }

type feed struct {
	topic  *Topic
	p      *gate.Process
	own    objstore.Store
	frozen []int64
}

func (*feed) Describe() ident.Description {
	return ident.Description{Kind: "topic", Name: "topic", Identity: map[string]any{"topic": "t"}}
}
func (f *feed) Open(_ context.Context, own objstore.Store) error { f.own = own; return nil }
func (f *feed) Pin(ctx context.Context) error {
	err := f.own.PutIfAbsent(ctx, "0", []byte("v1\n{}"))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
func (*feed) Schema() *arrow.Schema { return RowSchema() }

func (f *feed) available() []int64 {
	if f.frozen != nil {
		return f.frozen
	}
	return append([]int64{}, f.topic.Ends...)
}

func (f *feed) Plan(ctx context.Context, from ident.Offset, limit sources.Limit) (out sources.Planned, err error) {
	begin, err := ParseOffset(from)
	if err != nil {
		return out, err
	}
	var ends []int64
	if err := f.p.Do(ctx, "topic", "plan", "", func() error { ends = f.available(); return nil }); err != nil {
		return out, err
	}
	to, left := append([]int64{}, ends...), limit.Rows
	for i := range to {
		at := startOf(begin, i)
		to[i] = max(to[i], at) // another driver may have read beyond the frozen end
		if limit.Rows > 0 {
			to[i] = min(to[i], at+left)
			left -= to[i] - at
		}
		out.Rows += to[i] - at
		out.Behind += max(0, ends[i]-to[i])
	}
	out.To, out.Available = FormatOffset(to), FormatOffset(ends)
	if out.Rows == 0 {
		out.To = from
	}
	return out, nil
}

func (f *feed) Freeze(context.Context) error { f.frozen = f.available(); return nil }

func (f *feed) Guarantee(context.Context) guarantee.Link {
	return guarantee.Link{Name: "a topic in memory"}
}

func (f *feed) Splits(_ context.Context, from, to ident.Offset, _ map[string]string, _ int) ([]sources.Split, error) {
	begin, err := ParseOffset(from)
	if err != nil {
		return nil, err
	}
	end, err := ParseOffset(to)
	if err != nil {
		return nil, err
	}
	var out []sources.Split
	for i := range end {
		if at := startOf(begin, i); end[i] > at {
			out = append(out, &feedSplit{f: f, partition: i, from: at, to: end[i]})
		}
	}
	return out, nil
}

func (*feed) Release(context.Context, ident.Offset) error { return nil }
func (*feed) Close() error                                { return nil }

type feedSplit struct {
	f         *feed
	partition int
	from, to  int64
	rows      int64
}

func (s *feedSplit) Records(ctx context.Context) batch.Stream {
	return func(yield func(batch.Chunk, error) bool) {
		if err := s.f.p.Do(ctx, "topic", "read", strconv.Itoa(s.partition), func() error { return nil }); err != nil {
			yield(batch.Chunk{}, err)
			return
		}
		s.rows = s.to - s.from
		yield(s.f.topic.chunk(s.partition, s.from, s.to), nil)
	}
}

func (s *feedSplit) Reached() sources.Position {
	return sources.Position{Rows: s.rows, Units: []sources.Unit{{Name: strconv.Itoa(s.partition), Want: s.to - s.from, Covered: s.rows}}}
}

// chunk is the rows [from, to) of a partition.
func (t *Topic) chunk(partition int, from, to int64) batch.Chunk {
	b := array.NewRecordBuilder(memory.DefaultAllocator, RowSchema())
	defer b.Release()
	var c batch.Chunk
	for n := from; n < to; n++ {
		if t.Bad != nil && t.Bad(partition, n) {
			c.Rejected = append(c.Rejected, batch.Rejected{Position: RowID(partition, n), Reason: "MB3001 bad", Raw: []byte("x")})
			continue
		}
		b.Field(0).(*array.StringBuilder).Append(RowID(partition, n))
		b.Field(1).(*array.Int32Builder).Append(int32(partition))
		b.Field(2).(*array.Int64Builder).Append(n)
		b.Field(3).(*array.StringBuilder).Append("k" + strconv.FormatInt(n%4, 10))
	}
	c.Record = b.NewRecordBatch()
	return c
}

// Expect is what the range between two offsets comes to, as package checker asks: nothing before is the beginning.
func (t *Topic) Expect(from, to []string) (e checker.Expect, err error) {
	begin, err := ParseOffset(ident.Offset(strings.Join(from, "")))
	if err != nil {
		return e, err
	}
	end, err := ParseOffset(ident.Offset(to[0]))
	for p := range end {
		for n := startOf(begin, p); n < end[p]; n++ {
			e.In++
			if id := RowID(p, n); t.Bad != nil && t.Bad(p, n) {
				e.Rejected = append(e.Rejected, id)
			} else {
				e.Out = append(e.Out, id)
			}
		}
	}
	return e, err
}

// FormatOffset is the offset of a position, partition by partition.
func FormatOffset(ends []int64) ident.Offset {
	data, err := json.Marshal(ends)
	if err != nil {
		panic(err) // numbers always marshal
	}
	return ident.Offset(data)
}

// ParseOffset is the position of an offset; "" is the beginning of everything.
func ParseOffset(o ident.Offset) (ends []int64, err error) {
	if o == "" {
		return nil, nil
	}
	return ends, json.Unmarshal([]byte(o), &ends)
}

func startOf(begin []int64, partition int) int64 {
	if partition < len(begin) {
		return begin[partition]
	}
	return 0
}
