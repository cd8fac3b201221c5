package avro

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/hamba/avro/v2"

	"microbatch/codec/column"
)

// benchColumns are ten columns of an event, about 95 bytes in Avro.
const benchColumns = `id BIGINT, ts TIMESTAMP, user_id BIGINT, event STRING, country STRING, amount DOUBLE, price DECIMAL(10,2), url STRING, mobile BOOLEAN, count INT`

// benchMessages are messages of benchColumns.
func benchMessages(b *testing.B) (*Schema, [][]byte) {
	b.Helper()
	columns := columnsOf(b, benchColumns)
	s := derive(b, columns)
	cols, err := column.New(columns, memory.DefaultAllocator)
	if err != nil {
		b.Fatal(err)
	}
	defer cols.Release()
	const n = 1000
	for i := range n {
		for k, text := range []string{
			fmt.Sprint(1_000_000 + i), fmt.Sprintf("2026-01-05T08:%02d:%02d.%06dZ", i/60%60, i%60, i*7), fmt.Sprint(i * 7919 % 50_000), []string{"view", "click", "buy"}[i%3], []string{"CH", "AT", "DE"}[i%3],
			fmt.Sprint(float64(i) * 1.37), fmt.Sprintf("%d.%02d", i, i%100), fmt.Sprintf("https://shop.example/products/%d/details?page=%d", i*31, i%9), fmt.Sprint(i%2 == 0), fmt.Sprint(i % 100),
		} {
			if !cols.Cols()[k].AppendText([]byte(text)) {
				b.Fatal(text)
			}
		}
	}
	record := cols.Flush(n)
	defer record.Release()
	e, err := NewEncoder(s, columns)
	if err != nil {
		b.Fatal(err)
	}
	var messages [][]byte
	for i := range n {
		msg, err := e.AppendRow(nil, record, i)
		if err != nil {
			b.Fatal(err)
		}
		messages = append(messages, msg)
	}
	return s, messages
}

func report(b *testing.B, rows int) {
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds()/1e6, "Mrows/s")
	b.ReportMetric(0, "ns/op")
}

func BenchmarkDecode(b *testing.B) {
	s, messages := benchMessages(b)
	d, err := plain(b, s).NewDecoder(columnsOf(b, benchColumns), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Release()
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		for _, msg := range messages {
			if err := d.Decode(msg); err != nil {
				b.Fatal(err)
			}
		}
		if rows += len(messages); rows%64_000 == 0 {
			d.Flush().Release()
		}
	}
	report(b, rows)
}

func BenchmarkDecodeByTheLibrary(b *testing.B) {
	s, messages := benchMessages(b)
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		for _, msg := range messages {
			var row map[string]any
			if err := avro.Unmarshal(s.root, msg, &row); err != nil {
				b.Fatal(err)
			}
		}
		rows += len(messages)
	}
	report(b, rows)
}

func BenchmarkEncode(b *testing.B) {
	s, messages := benchMessages(b)
	columns := columnsOf(b, benchColumns)
	d := decoderOf(b, plain(b, s), columns)
	for _, msg := range messages {
		if err := d.Decode(msg); err != nil {
			b.Fatal(err)
		}
	}
	record := d.Flush()
	defer record.Release()
	e, err := NewEncoder(s, columns)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	rows := 0
	var buf []byte
	for b.Loop() {
		buf = buf[:0]
		for i := range len(messages) {
			if buf, err = e.AppendRow(buf, record, i); err != nil {
				b.Fatal(err)
			}
		}
		rows += len(messages)
	}
	report(b, rows)
}

func BenchmarkEncodeByTheLibrary(b *testing.B) {
	s, messages := benchMessages(b)
	var values []any
	for _, msg := range messages {
		var row any
		if err := avro.Unmarshal(s.root, msg, &row); err != nil {
			b.Fatal(err)
		}
		values = append(values, row)
	}
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		for _, row := range values {
			if _, err := avro.Marshal(s.root, row); err != nil {
				b.Fatal(err)
			}
		}
		rows += len(messages)
	}
	report(b, rows)
}
