package avro

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/codec/column"
)

// randomRecord is a record of random rows, owned by the caller.
func randomRecord(t testing.TB, rng *rand.Rand, columns *arrow.Schema, rows int, alloc memory.Allocator) arrow.RecordBatch {
	t.Helper()
	cols, err := column.New(columns, alloc)
	if err != nil {
		t.Fatal(err)
	}
	defer cols.Release()
	for range rows {
		for _, c := range cols.Cols() {
			appendRandom(rng, c)
		}
	}
	return cols.Flush(rows)
}

// appendRandom appends a random value, often an extreme one.
func appendRandom(rng *rand.Rand, c *column.Column) {
	if c.Field().Nullable && rng.Intn(5) == 0 {
		c.AppendNull()
		return
	}
	n := rng.Int63() >> rng.Intn(64)
	if rng.Intn(2) == 0 {
		n = -n - 1
	}
	switch c.Kind() {
	case column.Bool:
		c.AppendBool(n > 0)
	case column.Int8:
		c.AppendInt8(int8(n))
	case column.Int16:
		c.AppendInt16(int16(n))
	case column.Int32:
		c.AppendInt32(int32(n))
	case column.Int64:
		c.AppendInt64(n)
	case column.Float32:
		c.AppendInt32(int32(math.Float32bits(float32(n) / 3)))
	case column.Float64:
		c.AppendInt64(int64(math.Float64bits(float64(n) / 3)))
	case column.Date:
		c.AppendInt32(int32(minDay + int64(uint64(n)%(maxDay-minDay+1))))
	case column.Timestamp, column.TimestampNTZ:
		c.AppendInt64(minMicros + int64(uint64(n)%(maxMicros-minMicros+1)))
	case column.Decimal:
		t := c.Field().Type.(*arrow.Decimal128Type)
		v := decimal128.FromI64(n)
		if t.Precision > 30 && rng.Intn(2) == 0 {
			v = v.Mul(decimal128.FromI64(10_000_000_000))
		}
		if !v.FitsInPrecision(t.Precision) {
			v = decimal128.FromI64(n % 1000)
		}
		c.AppendDecimal(v)
	case column.String:
		c.AppendBytes([]byte([]string{"", "a", "Ärger 😀", fmt.Sprint(n)}[rng.Intn(4)]))
	case column.Binary:
		b := make([]byte, 1+rng.Intn(200)) // of an empty one Arrow shows null if the column has no other
		rng.Read(b)
		c.AppendBytes(b)
	case column.List:
		for range rng.Intn(4) {
			appendRandom(rng, c.Kids()[0])
		}
		c.AppendList()
	case column.Map:
		for i := range rng.Intn(4) * rng.Intn(5) {
			c.Kids()[0].Kids()[0].AppendBytes([]byte(fmt.Sprint("k", i)))
			appendRandom(rng, c.Kids()[0].Kids()[1])
			c.Kids()[0].AppendStruct()
		}
		c.AppendList()
	case column.Struct:
		for _, kid := range c.Kids() {
			appendRandom(rng, kid)
		}
		c.AppendStruct()
	}
}

// randomMessages are random rows as the encoder writes them.
func randomMessages(t testing.TB, columns *arrow.Schema, s *Schema, n int) (messages [][]byte) {
	t.Helper()
	record := randomRecord(t, rand.New(rand.NewSource(1)), columns, n, memory.DefaultAllocator)
	defer record.Release()
	e, err := NewEncoder(s, columns)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		msg, err := e.AppendRow(nil, record, i)
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, msg)
	}
	return messages
}
