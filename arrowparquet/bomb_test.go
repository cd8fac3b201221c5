package arrowparquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"microbatch/internal/heap"
)

// bombPage is a page as a hostile writer would send it.
type bombPage struct {
	kind     format.PageType
	values   int32
	encoding format.Encoding
	body     []byte
	claims   int32 // the uncompressed size, if it is another than that of the body
}

// bomb is a file of one row group in which every column has the same pages.
type bomb struct {
	schema  []format.SchemaElement
	columns int
	typ     format.Type
	rows    int64
	values  int64
	pages   []bombPage
	codec   format.CompressionCodec
	repeat  int // the last page is written so often
}

func (b bomb) bytes(t testing.TB) []byte {
	t.Helper()
	out := []byte(magic)
	var chunks []format.ColumnChunk
	for range b.columns {
		from := int64(len(out))
		for i, p := range b.pages {
			times := 1
			if i == len(b.pages)-1 {
				times = max(1, b.repeat)
			}
			for range times {
				out = append(out, b.page(t, p)...)
			}
		}
		m := format.ColumnMetaData{Type: b.typ, Codec: b.codec, NumValues: b.values, DataPageOffset: from, TotalCompressedSize: int64(len(out)) - from, TotalUncompressedSize: 100, PathInSchema: []string{"c"}}
		chunks = append(chunks, format.ColumnChunk{MetaData: m})
	}
	meta := format.FileMetaData{Version: 1, NumRows: b.rows, Schema: b.schema, RowGroups: []format.RowGroup{{NumRows: b.rows, Columns: chunks}}}
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), &meta)
	if err != nil {
		t.Fatal(err)
	}
	out = append(out, footer...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(footer)))
	return append(out, magic...)
}

func (b bomb) page(t testing.TB, p bombPage) []byte {
	t.Helper()
	body := p.body
	if b.codec == format.Zstd {
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		body = w.EncodeAll(body, nil)
		w.Close()
	}
	h := format.PageHeader{Type: p.kind, UncompressedPageSize: int32(len(p.body)), CompressedPageSize: int32(len(body))}
	if p.claims != 0 {
		h.UncompressedPageSize = p.claims
	}
	if p.kind == format.DictionaryPage {
		h.DictionaryPageHeader = thrift.New(format.DictionaryPageHeader{NumValues: p.values, Encoding: format.Plain})
	} else {
		h.DataPageHeader = thrift.New(format.DataPageHeader{NumValues: p.values, Encoding: p.encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})
	}
	head, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
	if err != nil {
		t.Fatal(err)
	}
	return append(head, body...)
}

// rleRun is n times one value as a run of RLE.
func rleRun(n int, value ...byte) []byte {
	return append(binary.AppendUvarint(nil, uint64(n)<<1), value...)
}

// levelRun is n times one level, as pages of version 1 have it.
func levelRun(n int, level byte) []byte {
	body := rleRun(n, level)
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func element(name string, rep format.FieldRepetitionType, typ format.Type) format.SchemaElement {
	return format.SchemaElement{Name: name, RepetitionType: thrift.New(rep), Type: thrift.New(typ)}
}

func group(name string, children int32) format.SchemaElement {
	return format.SchemaElement{Name: name, NumChildren: thrift.New(children)}
}

// bombs are small files that claim much.
func bombs() map[string]bomb {
	const rows = 1 << 20
	text := element("c", format.Required, format.ByteArray)
	fixed := element("c", format.Required, format.FixedLenByteArray)
	fixed.TypeLength = thrift.New(int32(1 << 20))
	number := element("c", format.Optional, format.Int64)
	list := group("l", 1)
	list.RepetitionType, list.LogicalType = thrift.New(format.Optional), format.LogicalType{Value: &format.ListType{}}
	repeated := group("list", 1)
	repeated.RepetitionType = thrift.New(format.Repeated)
	wide := []format.SchemaElement{group("schema", 3000)}
	for i := range 3000 {
		wide = append(wide, element(fmt.Sprint("c", i), format.Optional, format.Int64))
	}
	longText := append(binary.LittleEndian.AppendUint32(nil, 900_000), make([]byte, 900_000)...)
	indexes := append([]byte{0}, rleRun(rows)...)
	return map[string]bomb{
		"a long string of a dictionary, a million times": {
			schema: []format.SchemaElement{group("schema", 1), text}, columns: 1, typ: format.ByteArray, rows: rows, values: rows, codec: format.Zstd,
			pages: []bombPage{{kind: format.DictionaryPage, values: 1, body: longText}, {kind: format.DataPage, values: rows, encoding: format.RLEDictionary, body: indexes}},
		},
		"a long fixed value of a dictionary, a million times": {
			schema: []format.SchemaElement{group("schema", 1), fixed}, columns: 1, typ: format.FixedLenByteArray, rows: rows, values: rows, codec: format.Zstd,
			pages: []bombPage{{kind: format.DictionaryPage, values: 1, body: make([]byte, 1<<20)}, {kind: format.DataPage, values: rows, encoding: format.RLEDictionary, body: indexes}},
		},
		"one list of a thousand million nulls": {
			schema: []format.SchemaElement{group("schema", 1), list, repeated, element("element", format.Optional, format.Int64)}, columns: 1, typ: format.Int64,
			rows: 1, values: 1 + 60<<24, repeat: 60,
			pages: []bombPage{
				{kind: format.DataPage, values: 1, encoding: format.Plain, body: append(levelRun(1, 0), levelRun(1, 2)...)},
				{kind: format.DataPage, values: 1 << 24, encoding: format.Plain, body: append(levelRun(1<<24, 1), levelRun(1<<24, 2)...)},
			},
		},
		"three thousand columns of nulls": {
			schema: wide, columns: 3000, typ: format.Int64, rows: rows, values: rows,
			pages: []bombPage{{kind: format.DataPage, values: rows, encoding: format.Plain, body: levelRun(rows, 0)}},
		},
		"a thousand million nulls": {
			schema: []format.SchemaElement{group("schema", 1), number}, columns: 1, typ: format.Int64, rows: 60 << 24, values: 60 << 24, repeat: 60,
			pages: []bombPage{{kind: format.DataPage, values: 1 << 24, encoding: format.Plain, body: levelRun(1<<24, 0)}},
		},
		"a page of 900 KB that claims 2 GB": {
			schema: []format.SchemaElement{group("schema", 1), text}, columns: 1, typ: format.ByteArray, rows: rows, values: rows, codec: format.Zstd,
			pages: []bombPage{{kind: format.DataPage, values: rows, encoding: format.Plain, body: longText, claims: 1<<31 - 1}},
		},
		"a page that unpacks to more than it claims": {
			schema: []format.SchemaElement{group("schema", 1), text}, columns: 1, typ: format.ByteArray, rows: rows, values: rows, codec: format.Zstd,
			pages: []bombPage{{kind: format.DataPage, values: 1, encoding: format.Plain, body: make([]byte, 256<<20), claims: 100}},
		},
	}
}

// Of a small file that claims much no record may be much larger than a record of an honest one: one after the other they pass, or the file is refused.
func TestBombsCostLittleMemory(t *testing.T) {
	for name, b := range bombs() {
		data := b.bytes(t)
		if len(data) > 1<<20 {
			t.Fatalf("%s: the bomb has %d bytes", name, len(data))
		}
		var rows int64
		const record = 256 << 20 // no record may need so much, its predecessors' buffers included
		f, openErr := Open(bytes.NewReader(data), int64(len(data)), Limits{PageBytes: 8 << 20, OpenBytes: 64 << 20})
		if openErr != nil {
			continue // refused at once
		}
		alloc := &heap.Peak{Allocator: memory.DefaultAllocator}
		heap.AtMost(t, 2*record, name, func() {
			for rec, err := range f.Read(context.Background(), nil, nil, alloc) {
				if err != nil {
					break // refused
				}
				rows += rec.NumRows()
				rec.Release()
				if rows >= 64<<10 {
					break // what follows is the same again
				}
			}
		})
		if alloc.Most > record {
			t.Errorf("%s: a record took %d bytes", name, alloc.Most)
		}
	}
}
