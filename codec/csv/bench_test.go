package csv

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// BenchmarkFile decodes a file of 8 columns, about 120 bytes a row, in units of 1 MiB; with quotes around the texts, and without.
func BenchmarkFile(b *testing.B) {
	for _, quote := range []string{"", `"`} {
		b.Run("quote="+quote, func(b *testing.B) {
			rng := rand.New(rand.NewSource(1))
			var text bytes.Buffer
			text.WriteString("id,user_id,ts,event,country,amount,url,session\n")
			for i := range 100_000 {
				fmt.Fprintf(&text, "%d,%d,2024-05-01T12:%02d:%02d.123Z,%sclick%s,%sDE%s,%.2f,%shttps://shop.example.com/p/%d?ref=%d%s,%016x%08x\n", 100000000+i, rng.Intn(1e7), i/60%60, i%60,
					quote, quote, quote, quote, rng.Float64()*1000, quote, rng.Intn(1e5), rng.Intn(1000), quote, rng.Uint64(), rng.Uint32())
			}
			f, err := New(Options{Header: true})
			if err != nil {
				b.Fatal(err)
			}
			s := ddl(b, "id BIGINT, user_id BIGINT, ts TIMESTAMP, event STRING, country STRING, amount DOUBLE, url STRING, session STRING")
			file := bytesFile(text.Bytes())
			b.SetBytes(file.Size)
			b.ReportAllocs()
			var seen int64
			for b.Loop() {
				units, err := f.Units(b.Context(), file, 1<<20)
				if err != nil {
					b.Fatal(err)
				}
				for _, u := range units {
					for chunk, err := range f.Decode(b.Context(), file, u, s, memory.DefaultAllocator, &seen) {
						if err != nil {
							b.Fatal(err)
						}
						chunk.Release()
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(seen), "ns/row")
		})
	}
}
