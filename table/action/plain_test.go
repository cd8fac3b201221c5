package action

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lines are adds of the plain form and others that look like it.
func plainLines() []string {
	return []string{
		`{"add":{"path":"day=1/part-0","partitionValues":{"day":"1","hour":null},"size":10,"modificationTime":20,"dataChange":true,"stats":"{\"a\":\"\\\\x\"}"}}`,
		`{"add":{"path":"p","partitionValues":{},"size":0,"modificationTime":0,"dataChange":false}}`,
		`{"add":{"path":"p","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true,"stats":"{\"maxValues\":{\"url\":\"https://shop.example.com/product` + "\x7f" + `\"}}"}}`, // the end of a text that is cut
		`{"add":{"path":"p","partitionValues":{},"size":0,"modificationTime":0,"dataChange":false,"stats":""}}`,
		`{"add":{"path":"p","partitionValues":{"b":"","a":"<&>"},"size":1,"modificationTime":1,"dataChange":true,"tags":{"x":"y"}}}`,
		`{"add":{"path":"","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}`,
		`{"add":{"path":"p","partitionValues":{"a":"1","a":"2"},"size":1,"modificationTime":1,"dataChange":true}}`,
		`{"add":{"path":"p","partitionValues":{},"size":01,"modificationTime":1,"dataChange":true}}`,
		`{"add":{"path":"p","partitionValues":{},"size":9223372036854775807,"modificationTime":-1,"dataChange":true}}`,
		`{"add":{"path":"p","partitionValues":{},"size":9223372036854775808,"modificationTime":1,"dataChange":true}}`,
		`{"add":{"path":"p","partitionValues":{},"size":999999999999999999,"modificationTime":1,"dataChange":true}}`,
		`{"add":{"path":"p","partitionValues":{},"size":1e3,"modificationTime":1,"dataChange":true}}`,
		`{"add":{"path":"p","partitionValues":{},"size":1.0,"modificationTime":1,"dataChange":true}}`,
		`{"add":{"path":"p\n","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}`,
		`{"add":{"path":"p\u0041","partitionValues":{"ü":"ö"},"size":1,"modificationTime":1,"dataChange":true,"stats":"\\"}}`,
		`{"add":{"path":"p","partitionValues":{,"a":"1"},"size":1,"modificationTime":1,"dataChange":true}}`,
		`{"add":{"path":"p","partitionValues":{"a":"1",},"size":1,"modificationTime":1,"dataChange":true}}`,
		`{"add":{"path":"p","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true,"stats":"\"}}`,
		`{"add":{"path":"p","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}} `,
		`{"add":{"path":"p","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}x`,
		`{"add":{"path":"p","partitionValues":null,"size":1,"modificationTime":1,"dataChange":true}}`,
		`{"add":{"path":"p","partitionValues":{},"size":1,"modificationTime":1,"dataChange":trues}}`,
		`{"add":{"path":"` + "p\x7f\xff" + `","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}`,
	}
}

// FuzzPlain holds the reading and writing of plain adds against encoding/json: of every line, both understand the same or nothing, and write the same again.
func FuzzPlain(f *testing.F) {
	for _, line := range plainLines() {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		want, err := decodeAny(line)
		if add, ok := decodePlain(line); ok {
			if err != nil {
				t.Fatalf("%q is taken for an add, but: %v", line, err)
			}
			if diff := cmp.Diff(want, Action{Add: add}); diff != "" {
				t.Fatalf("%q (-encoding/json +plain):\n%s", line, diff)
			}
		}
		if err != nil || want.Add == nil {
			return
		}
		plain, ok := appendPlain(nil, want.Add)
		text, err := appendAny(nil, &want)
		if err != nil {
			t.Fatal(err)
		}
		if ok && !bytes.Equal(append(plain, '\n'), text) {
			t.Fatalf("%q is written as %q, and by encoding/json as %q", line, plain, text)
		}
	})
}

// TestOurAddsArePlain: else nothing would be won.
func TestOurAddsArePlain(t *testing.T) {
	for i, line := range plainLines()[:3] {
		add, ok := decodePlain([]byte(line))
		if !ok {
			t.Fatalf("line %d is not plain", i)
		}
		if again, ok := appendPlain(nil, add); !ok || string(again) != line {
			t.Errorf("line %d is written as %s", i, again)
		}
	}
}

func BenchmarkLine(b *testing.B) {
	line := []byte(`{"add":{"path":"part-00000-eb1600d960147ff2-0-bd1586103ee7acce.snappy.parquet","partitionValues":{},"size":37726,"modificationTime":1796027959916,"dataChange":false,"stats":"{\"numRecords\":1000,\"minValues\":{\"id\":1,\"ts\":\"2025-10-09T08:53:20.001Z\",\"user_id\":636,\"event\":\"cart\",\"country\":\"AT\",\"amount\":0.14,\"url\":\"https://shop.example.com/product\",\"session\":\"0022fec0cfb8da66\"},\"maxValues\":{\"id\":1000,\"ts\":\"2025-10-09T08:53:21.502Z\",\"user_id\":997320,\"event\":\"view\",\"country\":\"US\",\"amount\":998.02,\"url\":\"https://shop.example.com/product\",\"session\":\"ffd7939cc4aa9d76\"},\"nullCount\":{\"id\":0,\"ts\":0,\"user_id\":0,\"event\":0,\"country\":0,\"amount\":0,\"url\":0,\"session\":0}}"}}`)
	a, err := DecodeLine(line)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			_, _ = DecodeLine(line)
		}
	})
	b.Run("read by encoding json", func(b *testing.B) {
		for b.Loop() {
			_, _ = decodeAny(line)
		}
	})
	buf := make([]byte, 0, 4096)
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			_, _ = AppendLine(buf, &a)
		}
	})
	b.Run("write by encoding json", func(b *testing.B) {
		for b.Loop() {
			_, _ = appendAny(buf, &a)
		}
	})
}
