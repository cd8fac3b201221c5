package orders

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Schema is the schema of the events.
func Schema() *arrow.Schema {
	text := arrow.BinaryTypes.String
	return arrow.NewSchema([]arrow.Field{
		{Name: "order_id", Type: text, Nullable: true},
		{Name: "customer", Type: text, Nullable: true},
		{Name: "item", Type: text, Nullable: true},
		{Name: "quantity", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "amount", Type: &arrow.Decimal128Type{Precision: 10, Scale: 2}, Nullable: true},
		{Name: "currency", Type: text, Nullable: true},
		{Name: "country", Type: text, Nullable: true},
		{Name: "status", Type: text, Nullable: true},
		{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true},
	}, nil)
}

// columns builds records of events.
type columns struct {
	g                                                  *generator
	start                                              int64 // Config.Start in µs
	builder                                            *array.RecordBuilder
	id, customer, item, currency, country, statusField *array.StringBuilder
	quantity                                           *array.Int32Builder
	amount                                             *array.Decimal128Builder
	ts                                                 *array.TimestampBuilder
}

func newColumns(g *generator, start int64, schema *arrow.Schema, alloc memory.Allocator) *columns {
	b := array.NewRecordBuilder(alloc, schema)
	text := func(i int) *array.StringBuilder { return b.Field(i).(*array.StringBuilder) }
	return &columns{
		g: g, start: start, builder: b,
		id: text(0), customer: text(1), item: text(2), quantity: b.Field(3).(*array.Int32Builder), amount: b.Field(4).(*array.Decimal128Builder),
		currency: text(5), country: text(6), statusField: text(7), ts: b.Field(8).(*array.TimestampBuilder),
	}
}

// record is events [from, to), at most a chunk. The caller releases it.
func (c *columns) record(from, to int64) arrow.RecordBatch {
	c.reserve(int(to - from))
	var id [16]byte
	l := c.g.layout(from / block)
	for i := from; i < to; i++ {
		if i%block == 0 {
			l = c.g.layout(i / block)
		}
		c.append(c.g.at(i, l), &id)
	}
	return c.builder.NewRecordBatch()
}

// reserve makes room for n events, by the longest words.
func (c *columns) reserve(n int) {
	c.builder.Reserve(n)
	c.id.ReserveData(16 * n)
	c.customer.ReserveData(14 * n)
	c.item.ReserveData(18 * n)
	c.currency.ReserveData(3 * n)
	c.country.ReserveData(2 * n)
	c.statusField.ReserveData(9 * n)
}

func (c *columns) append(e event, id *[16]byte) {
	m := c.g.markets[e.market]
	c.id.BinaryBuilder.Append(orderID(e.order, id))
	c.customer.Append(c.g.names[e.customer])
	c.item.Append(c.g.products[e.product].name)
	c.quantity.UnsafeAppend(e.quantity)
	c.amount.UnsafeAppend(decimal128.FromI64(e.cents))
	c.currency.Append(m.currency)
	c.country.Append(m.country)
	c.statusField.Append(c.g.statuses[e.status])
	c.ts.UnsafeAppend(arrow.Timestamp(c.start + e.micros))
}

func (c *columns) release() { c.builder.Release() }

// orderID is "ord-" and twelve digits.
func orderID(n int64, buffer *[16]byte) []byte {
	copy(buffer[:], "ord-000000000000")
	var digits [20]byte
	d := strconv.AppendInt(digits[:0], n, 10)
	copy(buffer[len(buffer)-len(d):], d)
	return buffer[:]
}
