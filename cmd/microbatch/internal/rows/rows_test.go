package rows

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func record(alloc memory.Allocator) arrow.RecordBatch {
	b := array.NewRecordBuilder(alloc, arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}, nil))
	defer b.Release()
	b.Field(0).(*array.Int64Builder).AppendValues([]int64{1, 22, 333}, nil)
	b.Field(1).(*array.StringBuilder).AppendValues([]string{"ann, \"a\"", "line\nend\x1b[31m", ""}, []bool{true, true, false})
	b.Field(2).(*array.Float64Builder).AppendValues([]float64{4999833.5, 1e-9, 0}, nil)
	return b.NewRecordBatch()
}

// TestFormats prints a record in each format. The memory of a record is gone before the printer is closed, as with DuckDB's results.
func TestFormats(t *testing.T) {
	for format, want := range map[string]string{
		"table": " id  name                   x\n---  -------------  ---------\n  1  ann, \"a\"       4999833.5\n 22  line·end·[31m      1e-09\n333  NULL                   0\n",
		"json":  "{\"id\":1,\"name\":\"ann, \\\"a\\\"\",\"x\":4999833.5}\n{\"id\":22,\"name\":\"line\\nend\\u001b[31m\",\"x\":1e-9}\n{\"id\":333,\"name\":null,\"x\":0}\n",
		"csv":   "id,name,x\n1,\"ann, \"\"a\"\"\",4999833.5\n22,\"line\nend\x1b[31m\",1e-09\n333,,0\n",
	} {
		alloc := memory.NewCheckedAllocator(&overwriting{})
		r := record(alloc)
		var out bytes.Buffer
		p := New(&out, format, r.Schema())
		if err := p.Print(r); err != nil {
			t.Fatal(err)
		}
		r.Release()
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%s: have\n%q, want\n%q", format, out.String(), want)
		}
		alloc.AssertSize(t, 0)
	}
}

// overwriting is an allocator that spoils what is freed.
type overwriting struct{ memory.GoAllocator }

func (o *overwriting) Free(b []byte) {
	for i := range b {
		b[i] = '#'
	}
	o.GoAllocator.Free(b)
}
