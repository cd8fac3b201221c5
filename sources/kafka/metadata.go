package kafka

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/internal/errcode"
	"microbatch/schema"
)

// MetadataColumns are the names that Config.Metadata may hold. As columns they have the prefix:
//
//	_topic STRING  _partition INT  _offset BIGINT  _timestamp TIMESTAMP  _timestamp_type INT (0: the producer's, 1: the broker's)
//	_key BINARY    _headers ARRAY<STRUCT<key: STRING, value: BINARY>>
func MetadataColumns() []string {
	return []string{"topic", "partition", "offset", "timestamp", "timestamp_type", "key", "headers"}
}

func metadataType(name string) arrow.DataType {
	switch name {
	case "topic":
		return arrow.BinaryTypes.String
	case "partition", "timestamp_type":
		return arrow.PrimitiveTypes.Int32
	case "offset":
		return arrow.PrimitiveTypes.Int64
	case "timestamp":
		return schema.Timestamp()
	case "key":
		return arrow.BinaryTypes.Binary
	}
	return schema.List(arrow.StructOf(
		arrow.Field{Name: "key", Type: arrow.BinaryTypes.String, Nullable: true},
		arrow.Field{Name: "value", Type: arrow.BinaryTypes.Binary, Nullable: true},
	), true)
}

func metadataFields(c Config) ([]arrow.Field, error) {
	var fields []arrow.Field
	for _, name := range c.Metadata {
		if slices.ContainsFunc(fields, func(f arrow.Field) bool { return f.Name == c.Prefix+name }) {
			return nil, errcode.KafkaOptions.New("", "metadata: %s is named twice", name)
		}
		fields = append(fields, arrow.Field{Name: c.Prefix + name, Type: metadataType(name), Nullable: true})
	}
	return fields, nil
}

// metadata builds the metadata columns of a chunk.
type metadata struct {
	fields   []arrow.Field
	builders []array.Builder
	append   []func(*kgo.Record)
}

func newMetadata(c Config, fields []arrow.Field, alloc memory.Allocator) *metadata {
	if alloc == nil {
		alloc = memory.DefaultAllocator
	}
	m := &metadata{fields: fields}
	for i, name := range c.Metadata {
		b := array.NewBuilder(alloc, fields[i].Type)
		m.builders = append(m.builders, b)
		m.append = append(m.append, appender(name, b))
	}
	return m
}

func appender(name string, b array.Builder) func(*kgo.Record) {
	switch b := b.(type) {
	case *array.StringBuilder:
		return func(r *kgo.Record) { b.Append(r.Topic) }
	case *array.Int32Builder:
		if name == "partition" {
			return func(r *kgo.Record) { b.Append(r.Partition) }
		}
		return func(r *kgo.Record) { b.Append(int32(r.Attrs.TimestampType())) }
	case *array.Int64Builder:
		return func(r *kgo.Record) { b.Append(r.Offset) }
	case *array.TimestampBuilder:
		return func(r *kgo.Record) { b.Append(arrow.Timestamp(r.Timestamp.UnixMicro())) }
	case *array.BinaryBuilder:
		return func(r *kgo.Record) { appendBytes(b, r.Key) }
	case *array.ListBuilder:
		pair := b.ValueBuilder().(*array.StructBuilder)
		key, value := pair.FieldBuilder(0).(*array.StringBuilder), pair.FieldBuilder(1).(*array.BinaryBuilder)
		return func(r *kgo.Record) {
			b.Append(true)
			for _, h := range r.Headers {
				pair.Append(true)
				key.Append(h.Key)
				appendBytes(value, h.Value)
			}
		}
	}
	panic("kafka: no builder for the metadata column " + name)
}

// appendBytes keeps null and empty apart.
func appendBytes(b *array.BinaryBuilder, v []byte) {
	if v == nil {
		b.AppendNull()
		return
	}
	b.Append(v)
}

func (m *metadata) add(r *kgo.Record) {
	for _, f := range m.append {
		f(r)
	}
}

// join takes the columns out and puts them behind those of a record, which it releases.
func (m *metadata) join(record arrow.RecordBatch, output *arrow.Schema) arrow.RecordBatch {
	if len(m.builders) == 0 {
		return record
	}
	defer record.Release()
	columns := slices.Clone(record.Columns())
	for _, b := range m.builders {
		a := b.NewArray()
		defer a.Release()
		columns = append(columns, a)
	}
	return array.NewRecordBatch(output, columns, record.NumRows())
}

func (m *metadata) release() {
	for _, b := range m.builders {
		b.Release()
	}
}
