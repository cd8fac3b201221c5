package project

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/batch"
	"microbatch/internal/errcode"
	"microbatch/transforms"
)

// failure makes an error of parsing or binding one of ours, which names the expression and the place in it.
func failure(operator, expression string, err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, one := range many.Unwrap() {
			all = append(all, failure(operator, expression, one))
		}
		return errors.Join(all...)
	}
	if at, ok := errors.AsType[*syntaxError](err); ok {
		column := 1 + len([]rune(expression[:min(at.at, len(expression))]))
		return errcode.ExpressionInvalid.New(fmt.Sprintf("%s %q, column %d", operator, expression, column), "%s", at.message)
	}
	return err
}

// find is the index of the field with a name, without regard to case; -1 if there is none.
func find(fields []arrow.Field, name string) int {
	for i := range fields {
		if strings.EqualFold(fields[i].Name, name) {
			return i
		}
	}
	return -1
}

// apply makes a stream from one, chunk by chunk; work may return no record, and does not release its input.
func apply(in batch.Stream, counts *counter, work func(arrow.RecordBatch) (arrow.RecordBatch, error)) batch.Stream {
	return func(yield func(batch.Chunk, error) bool) {
		for c, err := range in {
			if err != nil {
				yield(batch.Chunk{}, err)
				return
			}
			out := batch.Chunk{Rejected: c.Rejected}
			counts.in.Add(c.Rows())
			if c.Record != nil {
				out.Record, err = work(c.Record)
				c.Release()
				if err != nil {
					yield(batch.Chunk{}, err)
					return
				}
			}
			counts.out.Add(out.Rows())
			if (out.Record != nil || out.Rejected != nil) && !yield(out, nil) {
				return
			}
		}
	}
}

// counter adds up the rows of all parts.
type counter struct{ in, out atomic.Int64 }

// Counts are valid when all streams have ended.
func (c *counter) Counts() transforms.Counts {
	in, out := c.in.Load(), c.out.Load()
	return transforms.Counts{In: in, Out: out, Filtered: in - out}
}
