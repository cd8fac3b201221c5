package translog

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"microbatch/table/action"
)

// row is the value of one action for a struct builder: values in the order of its fields, nil for null.
type row []any

// rowOf gives the column and the row of an action.
func rowOf(a *action.Action) (column string, r row) {
	switch {
	case a.Txn != nil:
		return "txn", row{a.Txn.AppID, a.Txn.Version, orNull(a.Txn.LastUpdated)}
	case a.Metadata != nil:
		m := a.Metadata
		return "metaData", row{
			m.ID, orNull(m.Name), orNull(m.Description), row{m.Format.Provider, m.Format.Options}, m.Schema, m.PartitionBy, m.Configuration, orNull(m.Created),
		}
	case a.Protocol != nil:
		p := a.Protocol
		return "protocol", row{int32(p.MinReader), int32(p.MinWriter), p.ReaderFeatures, p.WriterFeatures}
	case a.DomainMetadata != nil:
		d := a.DomainMetadata
		return "domainMetadata", row{d.Domain, d.Configuration, d.Removed}
	case a.Add != nil:
		f := a.Add
		return "add", row{
			f.Path, f.PartitionValues, f.Size, f.Modified, false, orNull(f.Stats), f.Tags, vectorRow(f.DeletionVector), f.BaseRowID, f.RowCommitVersion, orNull(f.Clustering),
		}
	case a.Remove != nil:
		f := a.Remove
		return "remove", row{
			f.Path, f.Deleted, false, f.ExtendedMetadata, f.PartitionValues, orNull(f.Size), vectorRow(f.DeletionVector), f.BaseRowID, f.RowCommitVersion,
		}
	}
	return "", nil
}

func vectorRow(v *action.DeletionVector) any {
	if v == nil {
		return nil
	}
	return row{v.Storage, v.Path, v.Offset, v.Size, v.Cardinality}
}

func orNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// A rowBuilder collects actions for one Arrow record of the schema of checkpoints.
type rowBuilder struct {
	*array.RecordBuilder
	columns map[string]int
	nulls   []int // that a column lacks: they are appended when it gets a value, many at a time
	rows    int
}

func newRowBuilder(b *array.RecordBuilder) *rowBuilder {
	r := &rowBuilder{RecordBuilder: b, columns: map[string]int{}, nulls: make([]int, b.Schema().NumFields())}
	for i, f := range b.Schema().Fields() {
		r.columns[f.Name] = i
	}
	return r
}

func (b *rowBuilder) append(a *action.Action) {
	name, values := rowOf(a)
	at := b.columns[name]
	for c := range b.nulls {
		b.nulls[c]++
	}
	b.nulls[at]--
	b.fill(at)
	appendValue(b.Field(at), values)
	b.rows++
}

func (b *rowBuilder) fill(c int) {
	b.Field(c).AppendNulls(b.nulls[c])
	b.nulls[c] = 0
}

// take is the record of what was appended, which the caller releases. The builder begins anew.
func (b *rowBuilder) take() arrow.RecordBatch {
	for c := range b.nulls {
		b.fill(c)
	}
	b.rows = 0
	return b.NewRecordBatch()
}

// appendValue appends a value of rowOf to a builder.
func appendValue(b array.Builder, v any) {
	switch v := v.(type) {
	case string:
		b.(*array.StringBuilder).Append(v)
	case int64:
		b.(*array.Int64Builder).Append(v)
	case int32:
		b.(*array.Int32Builder).Append(v)
	case bool:
		b.(*array.BooleanBuilder).Append(v)
	case *int64:
		appendPointer(b, v)
	case *int32:
		appendPointer(b, v)
	case *string:
		appendPointer(b, v)
	case []string:
		appendList(b.(*array.ListBuilder), v)
	case map[string]string:
		appendMap(b.(*array.MapBuilder), v)
	case map[string]*string:
		appendMap(b.(*array.MapBuilder), v)
	case row:
		s := b.(*array.StructBuilder)
		s.Append(true)
		for i, value := range v {
			appendValue(s.FieldBuilder(i), value)
		}
	default: // nil
		b.AppendNull()
	}
}

func appendPointer[T any](b array.Builder, v *T) {
	if v == nil {
		b.AppendNull()
		return
	}
	appendValue(b, *v)
}

func appendList(b *array.ListBuilder, values []string) {
	if values == nil {
		b.AppendNull()
		return
	}
	b.Append(true)
	for _, v := range values {
		appendValue(b.ValueBuilder(), v)
	}
}

func appendMap[T any](b *array.MapBuilder, m map[string]T) {
	if m == nil {
		b.AppendNull()
		return
	}
	b.Append(true)
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		appendValue(b.KeyBuilder(), k)
		appendValue(b.ItemBuilder(), m[k])
	}
}
