package arrowparquet_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/arrowparquet"
	"microbatch/arrowparquet/parquettest"
)

// splice puts row groups of files together.
func splice(t *testing.T, files [][]byte, pieces []arrowparquet.Piece) []byte {
	t.Helper()
	footer, err := arrowparquet.Splice(pieces)
	if err != nil {
		t.Fatal(err)
	}
	out := []byte(arrowparquet.Magic)
	for i, p := range pieces {
		if err := p.File.CheckPages(p.Group); err != nil {
			t.Errorf("piece %d: %v", i, err)
		}
		g := p.File.RowGroups()[p.Group]
		out = append(out, files[i][g.From:g.To]...)
	}
	return append(out, footer...)
}

func openBytes(t *testing.T, data []byte) *arrowparquet.File {
	t.Helper()
	f, err := arrowparquet.Open(bytes.NewReader(data), int64(len(data)), arrowparquet.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestASplicedFileIsReadLikeItsPieces: all row groups of one file are that file again, byte by byte; those of two are read by us and by arrow-go as the rows of one after the other.
func TestASplicedFileIsReadLikeItsPieces(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer alloc.AssertSize(t, 0)
	s := parquettest.AllTypes()
	var datas [2][]byte
	var files [2]*arrowparquet.File
	for i := range datas {
		rec := parquettest.Record(alloc, s, 20_000+i, 0.3, rand.New(rand.NewPCG(7, uint64(i))))
		datas[i], _ = write(t, s, arrowparquet.Options{RowGroupRows: 5000, OneCompression: true}, rec)
		files[i] = openBytes(t, datas[i])
	}
	var pieces []arrowparquet.Piece
	var of [][]byte
	for g := range files[0].RowGroups() {
		pieces, of = append(pieces, arrowparquet.Piece{File: files[0], Group: g}), append(of, datas[0])
	}
	if again := splice(t, of, pieces); !bytes.Equal(again, datas[0]) {
		t.Errorf("a file of %d bytes is spliced to another of %d", len(datas[0]), len(again))
	}
	for g := range files[1].RowGroups() {
		pieces, of = append(pieces, arrowparquet.Piece{File: files[1], Group: g}), append(of, datas[1])
	}
	both := splice(t, of, pieces)
	for name, read := range map[string]func(data []byte) arrow.Table{
		"ours":     func(data []byte) arrow.Table { return readByUs(t, alloc, data, nil) },
		"arrow-go": func(data []byte) arrow.Table { return readByArrow(t, memory.DefaultAllocator, data) }, // it keeps some memory
	} {
		got, first, second := read(both), read(datas[0]), read(datas[1])
		for c := range int(got.NumCols()) {
			all := slices.Concat(first.Column(c).Data().Chunks(), second.Column(c).Data().Chunks())
			want := arrow.NewChunked(got.Column(c).DataType(), all)
			if !array.ChunkedEqual(want, got.Column(c).Data()) {
				t.Errorf("%s: column %s is another", name, got.Column(c).Name())
			}
			want.Release()
		}
		for _, table := range []arrow.Table{got, first, second} {
			table.Release()
		}
	}
}

// TestFilesOfOthersAreNotSpliced: with another schema or compression, or with pairs in the footer, which a splice would lose.
func TestFilesOfOthersAreNotSpliced(t *testing.T) {
	file := func(s *arrow.Schema, o arrowparquet.Options) *arrowparquet.File {
		data, _ := write(t, s, o, parquettest.Record(memory.DefaultAllocator, s, 10, 0, rand.New(rand.NewPCG(7, 1))))
		return openBytes(t, data)
	}
	number := func(name string) *arrow.Schema {
		return arrow.NewSchema([]arrow.Field{{Name: name, Type: arrow.PrimitiveTypes.Int64}}, nil)
	}
	same := arrowparquet.Options{OneCompression: true}
	first := file(number("a"), same)
	for name, other := range map[string]*arrowparquet.File{
		"another schema":      file(number("b"), same),
		"pairs":               file(number("a"), arrowparquet.Options{OneCompression: true, Metadata: map[string]string{"k": "v"}}),
		"another compression": file(number("a"), arrowparquet.Options{OneCompression: true, Compression: arrowparquet.Zstd}),
		"no compression":      file(number("a"), arrowparquet.Options{Compression: arrowparquet.None}),
	} {
		if _, err := arrowparquet.Splice([]arrowparquet.Piece{{File: first}, {File: other}}); err == nil {
			t.Errorf("%s: spliced", name)
		}
	}
	if _, err := arrowparquet.Splice([]arrowparquet.Piece{{File: first}, {File: file(number("a"), same)}}); err != nil {
		t.Error(err)
	}
}

// TestADamagedPageIsNotSpliced: a bit of a page has rotted.
func TestADamagedPageIsNotSpliced(t *testing.T) {
	s := parquettest.AllTypes()
	data, _ := write(t, s, arrowparquet.Options{RowGroupRows: 5000}, parquettest.Record(memory.DefaultAllocator, s, 20_000, 0.3, rand.New(rand.NewPCG(7, 1))))
	f := openBytes(t, data)
	g := f.RowGroups()[1]
	data[(g.From+g.To)/2] ^= 4
	for i := range f.RowGroups() {
		if err := f.CheckPages(i); (err != nil) != (i == 1) {
			t.Errorf("row group %d: %v", i, err)
		}
	}
}
