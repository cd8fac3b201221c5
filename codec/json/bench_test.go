package json

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/codec"
)

// eventSchema is the row of the speed figures: 8 columns, about 200 bytes of JSON.
func eventSchema() *arrow.Schema {
	ts := &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	return arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "user_id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "ts", Type: ts, Nullable: true},
		{Name: "event", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "country", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "amount", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "url", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "session", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
}

// events are n rows of eventSchema. Python: with blanks, as json.dumps writes. Shuffled: each row has its own order of keys.
func events(n int, python, shuffled bool) [][]byte {
	rng := rand.New(rand.NewSource(1))
	rows := make([][]byte, n)
	base := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	kinds := []string{"view", "click", "purchase", "search", "login"}
	countries := []string{"DE", "FR", "US", "GB", "JP", "BR"}
	for i := range rows {
		members := []string{
			fmt.Sprintf(`"id":%d`, 100000000+i),
			fmt.Sprintf(`"user_id":%d`, rng.Intn(10000000)),
			fmt.Sprintf(`"ts":"%s"`, base.Add(time.Duration(i)*37*time.Millisecond).Format("2006-01-02T15:04:05.000Z")),
			fmt.Sprintf(`"event":"%s"`, kinds[rng.Intn(len(kinds))]),
			fmt.Sprintf(`"country":"%s"`, countries[rng.Intn(len(countries))]),
			fmt.Sprintf(`"amount":%.2f`, rng.Float64()*1000),
			fmt.Sprintf(`"url":"https://shop.example.com/p/%d?ref=%d"`, rng.Intn(100000), rng.Intn(1000)),
			fmt.Sprintf(`"session":"%016x%08x"`, rng.Uint64(), rng.Uint32()),
		}
		if shuffled {
			rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		}
		comma := ","
		if python {
			comma = ", "
		}
		row := []byte("{")
		for i, m := range members {
			if i > 0 {
				row = append(row, comma...)
			}
			if python {
				m = string(bytes.Replace([]byte(m), []byte(`":`), []byte(`": `), 1))
			}
			row = append(row, m...)
		}
		rows[i] = append(row, '}')
	}
	return rows
}

func benchmarkMessages(b *testing.B, rows [][]byte) {
	d, err := New(Options{}).NewDecoder(eventSchema(), memory.DefaultAllocator)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Release()
	var total int64
	for _, r := range rows {
		total += int64(len(r))
	}
	b.SetBytes(total)
	b.ReportAllocs()
	for b.Loop() {
		for _, r := range rows {
			if err := d.Decode(r); err != nil {
				b.Fatal(err)
			}
		}
		d.Flush().Release()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows)), "ns/row")
}

// BenchmarkMessages decodes rows of about 200 bytes and 8 columns. A core of an AMD EPYC that did other work beside took 193 ns a row at best (1.04 GB/s),
// 220 with blanks as Python writes them, 390 where each row has its own order of keys.
func BenchmarkMessages(b *testing.B) {
	b.Run("compact", func(b *testing.B) { benchmarkMessages(b, events(8192, false, false)) })
	b.Run("python", func(b *testing.B) { benchmarkMessages(b, events(8192, true, false)) })
	b.Run("shuffled", func(b *testing.B) { benchmarkMessages(b, events(8192, false, true)) })
}

// BenchmarkFile decodes a file in units of 1 MiB: 201 ns a row at best, on the same machine.
func BenchmarkFile(b *testing.B) {
	rows := events(100_000, false, false)
	text := bytes.Join(rows, []byte("\n"))
	format := NewFiles(Options{})
	file := codec.File{Name: "f", At: bytes.NewReader(text), Size: int64(len(text))}
	units, err := format.Units(b.Context(), file, 1<<20)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(file.Size)
	b.ReportAllocs()
	schema := eventSchema()
	var seen int64
	for b.Loop() {
		for _, u := range units {
			for chunk, err := range format.Decode(b.Context(), file, u, schema, memory.DefaultAllocator, &seen) {
				if err != nil {
					b.Fatal(err)
				}
				chunk.Release()
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(seen), "ns/row")
}

// BenchmarkEncoder encodes such rows: 230 ns a row on a core of an Intel Xeon that did other work beside; 1,500 when each value was asked for its type, and times were written by package time.
func BenchmarkEncoder(b *testing.B) {
	d, err := New(Options{}).NewDecoder(eventSchema(), memory.DefaultAllocator)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Release()
	rows := events(8192, false, false)
	for _, r := range rows {
		if err := d.Decode(r); err != nil {
			b.Fatal(err)
		}
	}
	record := d.Flush()
	defer record.Release()
	e, err := NewEncoder(eventSchema())
	if err != nil {
		b.Fatal(err)
	}
	var text []byte
	b.ReportAllocs()
	for b.Loop() {
		text = text[:0]
		for i := range rows {
			if text, err = e.AppendRow(text, record, i); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.SetBytes(int64(len(text)))
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows)), "ns/row")
}
