package files

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/codec"
)

// lines is a format for tests: a row for each line, in one column. A line that begins with "bad" is rejected. It is deliberately simple and checks its caller.
type lines struct {
	rowsAChunk int
	decoding   *atomic.Int64 // streams that have begun and not ended
}

func linesSchema() *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{{Name: "line", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
}

func newLines() lines { return lines{rowsAChunk: 100, decoding: new(atomic.Int64)} }

func (lines) Kind() string { return "lines" }

func (lines) Infer(_ context.Context, f codec.File) (*arrow.Schema, error) {
	first := make([]byte, 1)
	if _, err := reader(f, codec.Unit{To: f.Size}).Read(first); err != nil {
		return nil, fmt.Errorf("nothing to learn from: %w", err)
	}
	return linesSchema(), nil
}

func (lines) Output(s *arrow.Schema) (*arrow.Schema, error) { return s, nil }

func (lines) Units(_ context.Context, f codec.File, target int64) ([]codec.Unit, error) {
	var units []codec.Unit
	for from := int64(0); from < f.Size; from += target {
		units = append(units, codec.Unit{From: from, To: min(f.Size, from+target)})
	}
	return units, nil
}

func reader(f codec.File, u codec.Unit) io.Reader {
	if f.At == nil {
		return f.Stream
	}
	return io.NewSectionReader(f.At, u.From, f.Size-u.From)
}

func (l lines) Decode(ctx context.Context, f codec.File, u codec.Unit, s *arrow.Schema, alloc memory.Allocator, seen *int64) batch.Stream {
	return func(yield func(batch.Chunk, error) bool) {
		l.decoding.Add(1)
		defer l.decoding.Add(-1)
		b := array.NewRecordBuilder(alloc, s)
		defer b.Release()
		var rejected []batch.Rejected
		flush := func() bool {
			chunk := batch.Chunk{Record: b.NewRecordBatch(), Rejected: rejected}
			rejected = nil
			return yield(chunk, nil)
		}
		at := u.From
		var before [1]byte
		skip := false // a line that began before this unit
		if f.At != nil && u.From > 0 {
			if _, err := f.At.ReadAt(before[:], u.From-1); err != nil {
				yield(batch.Chunk{}, err)
				return
			}
			skip = before[0] != '\n'
		}
		r := bufio.NewReaderSize(reader(f, u), 64<<10)
		for f.At == nil || at < u.To {
			text, err := r.ReadString('\n')
			if err != nil && !errors.Is(err, io.EOF) {
				yield(batch.Chunk{}, err)
				return
			}
			if text == "" {
				break
			}
			position := fmt.Sprintf("%s@%d", f.Name, at)
			at += int64(len(text))
			if skip {
				skip = false
				continue
			}
			*seen++
			if len(text) > 3 && text[:3] == "bad" {
				rejected = append(rejected, batch.Rejected{Position: position, Reason: "MB3001 bad", Raw: []byte(text)})
				continue
			}
			b.Field(0).(*array.StringBuilder).Append(text[:len(text)-1])
			if b.Field(0).Len() == l.rowsAChunk && !flush() {
				return
			}
		}
		if b.Field(0).Len() > 0 || rejected != nil {
			flush()
		}
	}
}
