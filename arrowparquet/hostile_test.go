package arrowparquet_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"microbatch/arrowparquet"
	"microbatch/arrowparquet/parquettest"
)

// readAll reads whatever can be read of a file. It fails the test by a panic only.
func readAll(data []byte, alloc memory.Allocator) (rows int64, err error) {
	f, err := arrowparquet.Open(bytes.NewReader(data), int64(len(data)), arrowparquet.Limits{PageBytes: 1 << 20, OpenBytes: 16 << 20})
	if err != nil {
		return 0, err
	}
	for rec, err := range f.Read(context.Background(), nil, nil, alloc) {
		if err != nil {
			return rows, err
		}
		rows += rec.NumRows()
		rec.Release()
		if rows > 1<<20 { // runs may say so of any number of rows, one record after the other
			return rows, nil
		}
	}
	return rows, nil
}

// samples are small files with all types, ours and the Arrow project's.
func samples(t *testing.T) map[string][]byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	s := parquettest.AllTypes()
	rec := parquettest.Record(memory.DefaultAllocator, s, 200, 0.2, rng)
	out := map[string][]byte{}
	for name, o := range map[string]arrowparquet.Options{"auto": {}, "plain": {Encoding: arrowparquet.Plain, Compression: "none"}, "zstd": {Compression: "zstd"}} {
		rec.Retain()
		out[name], _ = write(t, s, o, rec)
	}
	var buf bytes.Buffer
	w, err := pqarrow.NewFileWriter(s, &buf, parquet.NewWriterProperties(parquet.WithDataPageVersion(parquet.DataPageV2)), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out["arrow"] = buf.Bytes()
	return out
}

func TestTruncatedFileIsAnError(t *testing.T) {
	for name, data := range samples(t) {
		for n := 0; n < len(data); n += 1 + n/30 {
			if _, err := readAll(data[:n], memory.DefaultAllocator); err == nil {
				t.Fatalf("%s: the first %d of %d bytes were read without an error", name, n, len(data))
			}
		}
	}
}

// A flipped bit anywhere in a file of ours is an error, or changes nothing of the rows: it may hit what no reader needs, such as statistics.
func TestAFlippedBitChangesNoValueUnseen(t *testing.T) {
	for name, data := range samples(t) {
		if name == "arrow" { // without checksums
			continue
		}
		whole := readByUs(t, memory.DefaultAllocator, data, nil)
		defer whole.Release()
		pages := len(data) - 8 - int(binary.LittleEndian.Uint32(data[len(data)-8:])) // the footer is behind them
		for at := len("PAR1"); at < pages; at += 1 + pages/1000 {
			damaged := bytes.Clone(data)
			damaged[at] ^= 1 << (at % 8)
			if _, err := readAll(damaged, memory.DefaultAllocator); err != nil {
				continue
			}
			got := readByUs(t, memory.DefaultAllocator, damaged, nil)
			for c := range int(whole.NumCols()) {
				sameColumn(t, fmt.Sprintf("%s, bit %d of byte %d, %s", name, at%8, at, whole.Schema().Field(c).Name), whole.Column(c).Data().Chunks(), got.Column(c).Data().Chunks())
			}
			got.Release()
		}
	}
}

// A flipped bit may hit a value of a file without checksums, which nobody can see; it must never be a panic, more rows than there are, or memory without bound.
func TestFlippedBitsNeverPanic(t *testing.T) {
	var before, after runtime.MemStats
	for name, data := range samples(t) {
		rng := rand.New(rand.NewPCG(6, 6))
		runtime.ReadMemStats(&before)
		const rounds = 700
		for i := range rounds {
			damaged := bytes.Clone(data)
			at := rng.IntN(len(data))
			if i%2 == 0 { // the footer is the more interesting part
				at = len(data) - 1 - rng.IntN(min(len(data), 6000))
			}
			for range 1 + rng.IntN(3) {
				damaged[at] ^= 1 << rng.IntN(8)
				at = min(len(data)-1, at+rng.IntN(4))
			}
			if rows, err := readAll(damaged, memory.DefaultAllocator); err == nil && rows > 200 {
				t.Fatalf("%s: %d rows read of a damaged file of 200", name, rows)
			}
		}
		runtime.ReadMemStats(&after)
		if perRead := (after.TotalAlloc - before.TotalAlloc) / rounds; perRead > 64<<20 {
			t.Errorf("%s: reading a damaged file took %d bytes on average", name, perRead)
		}
	}
}

func TestFileThatIsNotParquetIsAnError(t *testing.T) {
	for _, data := range []string{"", "PAR1", "PAR1PAR1", "PAR1\x00\x00\x00\x00PAR1", "{\"a\": 1}\n{\"a\": 2}\n", "PAR1" + string(make([]byte, 100)) + "\xff\xff\xff\xffPAR1", "PAR1\x00\x00\x00\x00PARE"} {
		if _, err := readAll([]byte(data), memory.DefaultAllocator); err == nil {
			t.Errorf("%q was read", data)
		}
	}
}
