package parquettest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/schema"
)

// AllTypes has a column of every type, each in a nullable and, where the name ends in _req, in a NOT NULL form.
func AllTypes() *arrow.Schema {
	s, err := schema.ParseDDL(`
		b BOOLEAN, i8 TINYINT, i16 SMALLINT, i32 INT, i64 BIGINT, f32 FLOAT, f64 DOUBLE,
		d9 DECIMAL(9,2), d18 DECIMAL(18,6), d38 DECIMAL(38,10), s STRING, country STRING, bin BINARY, dt DATE, ts TIMESTAMP, ntz TIMESTAMP_NTZ,
		b_req BOOLEAN NOT NULL, i64_req BIGINT NOT NULL, s_req STRING NOT NULL, ts_req TIMESTAMP NOT NULL, d38_req DECIMAL(38,0) NOT NULL,
		list_i ARRAY<INT>, list_s ARRAY<STRING>, list_req ARRAY<BIGINT> NOT NULL, m MAP<STRING,BIGINT>, st STRUCT<a: INT, b: STRING, c: STRUCT<x: DOUBLE NOT NULL>>,
		deep ARRAY<STRUCT<k: STRING, v: ARRAY<MAP<INT, STRUCT<q: DECIMAL(20,2), w: ARRAY<STRING>>>>>>`)
	if err != nil {
		panic(err)
	}
	return s
}

// Schema is a random schema of 1 to 8 columns.
func Schema(r *rand.Rand) *arrow.Schema {
	fields := make([]arrow.Field, 1+r.IntN(8))
	for i := range fields {
		fields[i] = arrow.Field{Name: fmt.Sprintf("c%d", i), Type: dataType(r, 3), Nullable: r.IntN(4) > 0}
	}
	return arrow.NewSchema(fields, nil)
}

func dataType(r *rand.Rand, depth int) arrow.DataType {
	flat := AllTypes().Fields()[:16]
	if depth == 0 || r.IntN(3) > 0 {
		return flat[r.IntN(len(flat))].Type
	}
	switch r.IntN(3) {
	case 0:
		return schema.List(dataType(r, depth-1), r.IntN(2) == 0)
	case 1:
		keys := []arrow.DataType{arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64}
		return schema.Map(keys[r.IntN(len(keys))], dataType(r, depth-1), r.IntN(2) == 0)
	}
	fields := make([]arrow.Field, 1+r.IntN(3))
	for i := range fields {
		fields[i] = arrow.Field{Name: string(rune('a' + i)), Type: dataType(r, depth-1), Nullable: r.IntN(3) > 0}
	}
	return arrow.StructOf(fields...)
}

// Record is a record of rows rows, with about nulls of all nullable values null. The caller releases it.
func Record(alloc memory.Allocator, s *arrow.Schema, rows int, nulls float64, r *rand.Rand) arrow.RecordBatch {
	b := array.NewRecordBuilder(alloc, s)
	defer b.Release()
	for i, f := range s.Fields() {
		g := generator{r: r, nulls: nulls, kind: r.IntN(3)}
		for range rows {
			g.append(b.Field(i), f.Type, f.Nullable)
		}
	}
	return b.NewRecordBatch()
}

type generator struct {
	r     *rand.Rand
	nulls float64
	kind  int // how values are spread: few distinct, ascending, any
	next  int64
}

func (g *generator) append(b array.Builder, t arrow.DataType, nullable bool) {
	if nullable && g.r.Float64() < g.nulls {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.StructBuilder:
		b.Append(true)
		for i, f := range t.(*arrow.StructType).Fields() {
			g.append(b.FieldBuilder(i), f.Type, f.Nullable)
		}
	case *array.MapBuilder:
		b.Append(true)
		m := t.(*arrow.MapType)
		for i := range g.r.IntN(4) {
			g.key(b.KeyBuilder(), i)
			g.append(b.ItemBuilder(), m.ItemType(), m.ItemField().Nullable)
		}
	case *array.ListBuilder:
		b.Append(true)
		e := t.(*arrow.ListType).ElemField()
		for range g.r.IntN(4) {
			g.append(b.ValueBuilder(), e.Type, e.Nullable)
		}
	default:
		g.scalar(b, t)
	}
}

// key appends a key that differs from the others of its map, by the position in it.
func (g *generator) key(b array.Builder, position int) {
	n := g.number()&^3 | int64(position)
	switch b := b.(type) {
	case *array.StringBuilder:
		b.Append(fmt.Sprintf("%s/%d", g.text(n), position))
	case *array.Int32Builder:
		b.Append(int32(n))
	case *array.Int64Builder:
		b.Append(n)
	default:
		panic(fmt.Sprintf("parquettest: no keys of type %s", b.Type()))
	}
}

func (g *generator) scalar(b array.Builder, t arrow.DataType) {
	n := g.number()
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(n&1 == 1)
	case *array.Int8Builder:
		b.Append(int8(n))
	case *array.Int16Builder:
		b.Append(int16(n))
	case *array.Int32Builder:
		b.Append(int32(n))
	case *array.Int64Builder:
		b.Append(n)
	case *array.Float32Builder:
		b.Append(float32(g.float()))
	case *array.Float64Builder:
		b.Append(g.float())
	case *array.StringBuilder:
		b.Append(g.text(n))
	case *array.BinaryBuilder:
		b.Append([]byte(g.text(n)))
	case *array.Date32Builder:
		b.Append(arrow.Date32(n % 100_000))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(n % (1 << 55)))
	case *array.Decimal128Builder:
		b.Append(g.decimal(t.(*arrow.Decimal128Type).Precision))
	default:
		panic(fmt.Sprintf("parquettest: no values for %s", t))
	}
}

func (g *generator) number() int64 {
	switch g.kind {
	case 0:
		return g.r.Int64N(5) - 1
	case 1:
		g.next += g.r.Int64N(100)
		return g.next
	}
	return int64(g.r.Uint64())
}

func (g *generator) float() float64 {
	if g.kind == 2 {
		return g.r.NormFloat64() * math.Pow(10, float64(g.r.IntN(20)-10))
	}
	return float64(g.number()) / 4
}

func (g *generator) text(n int64) string {
	switch g.kind {
	case 0:
		return []string{"", "DE", "France", "naïve", "😀", "US", "a longer value that repeats"}[(n+7)%7]
	case 1:
		return fmt.Sprintf("https://example.org/item/%d", n)
	}
	return strings.Repeat(string(rune('a'+n&15)), int(uint64(n)>>58)) + fmt.Sprint(n)
}

func (g *generator) decimal(precision int32) decimal128.Num {
	digits := 1 + g.r.IntN(int(precision))
	text := make([]byte, 0, digits+1)
	if g.r.IntN(2) == 0 {
		text = append(text, '-')
	}
	for range digits {
		text = append(text, byte('0'+g.r.IntN(10)))
	}
	v, err := decimal128.FromString(string(text), precision, 0)
	if err != nil {
		panic(err)
	}
	return v
}
