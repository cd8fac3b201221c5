package datafile

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/arrowparquet"
	"microbatch/arrowparquet/parquettest"
	"microbatch/internal/errcode"
	"microbatch/objstore/mem"
	"microbatch/table/action"
)

// A data file that rots or was made to do harm is an error that names it, wherever the damage lies; other bytes than the writer's may be read as other values, never more rows.
func TestDamagedDataFilesAreNamed(t *testing.T) {
	s := parquettest.AllTypes()
	var file bytes.Buffer
	w, err := arrowparquet.NewWriter(&file, s, arrowparquet.Options{Compression: arrowparquet.Zstd})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(parquettest.Record(memory.DefaultAllocator, s, 300, 0.2, rand.New(rand.NewPCG(1, 1)))); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	found := 0
	for at := 0; at < file.Len(); at += 1 + file.Len()/300 {
		data := bytes.Clone(file.Bytes())
		data[at] ^= 0x55
		store := mem.New()
		if err := store.Put(t.Context(), "x.parquet", data); err != nil {
			t.Fatal(err)
		}
		r := Reader{Store: store, Schema: s, Alloc: memory.DefaultAllocator}
		rows := int64(0)
		for rec, err := range r.Read(t.Context(), &action.Add{Path: "x.parquet"}) {
			if err != nil {
				if found++; !errcode.Has(err, errcode.TableFile) {
					t.Errorf("byte %d: %v, want code %s", at, err, errcode.TableFile.ID)
				}
				break
			}
			rows += rec.NumRows()
			rec.Release()
		}
		if rows > 300 {
			t.Errorf("byte %d: %d rows of 300", at, rows)
		}
	}
	if found < 100 {
		t.Errorf("only %d damaged files were found out", found)
	}
}
