package codectest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/codec"
)

// rowsOf is each row of a record as text.
func rowsOf(record arrow.RecordBatch) []string {
	rows := array.RecordToStructArray(record)
	defer rows.Release()
	texts := make([]string, rows.Len())
	for i := range texts {
		texts[i] = rows.ValueStr(i)
	}
	return texts
}

// outcome is everything that came out of units of a file.
type outcome struct {
	Rows     []string
	Rejected []string // position, reason and bytes
	Seen     int64
	Err      string
}

// decodeUnits decodes units one after another. stopAfter > 0 leaves the stream after so many chunks.
func decodeUnits(t testing.TB, format codec.Files, file func() codec.File, units []codec.Unit, schema *arrow.Schema, stopAfter int) (out outcome) {
	t.Helper()
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	want, err := format.Output(schema)
	if err != nil {
		t.Fatal(err)
	}
	chunks := 0
	for _, unit := range units {
		for chunk, err := range format.Decode(context.Background(), file(), unit, schema, alloc, &out.Seen) {
			if err != nil {
				out.Err = err.Error()
				break
			}
			if chunk.Record != nil {
				if !chunk.Record.Schema().Equal(want) {
					t.Errorf("(D4) a record has the schema %v, not %v", chunk.Record.Schema(), want)
				}
				out.Rows = append(out.Rows, rowsOf(chunk.Record)...)
			}
			for _, r := range chunk.Rejected {
				out.Rejected = append(out.Rejected, fmt.Sprintf("%s %s %q", r.Position, r.Reason, r.Raw))
			}
			chunk.Release()
			if chunks++; chunks == stopAfter {
				break
			}
		}
	}
	if n := alloc.CurrentAlloc(); n != 0 {
		t.Errorf("%d bytes of Arrow memory are left", n)
	}
	if stopAfter == 0 && out.Err == "" && out.Seen != int64(len(out.Rows)+len(out.Rejected)) {
		t.Errorf("(D1) %d rows seen, %d decoded, %d rejected", out.Seen, len(out.Rows), len(out.Rejected))
	}
	return out
}

// isReject reports whether err is a rejected row; any other error fails the test.
func isReject(t testing.TB, err error) bool {
	t.Helper()
	if err == nil {
		return false
	}
	if reject := (*codec.Reject)(nil); !errors.As(err, &reject) {
		t.Fatalf("decode: %v", err)
	}
	return true
}
