package translog

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/arrowparquet"
	"microbatch/objstore"
	"microbatch/table/action"
)

// readParquetCheckpoint shows all actions of a checkpoint file, or of a sidecar; with light only the columns that a writer needs are read.
func readParquetCheckpoint(ctx context.Context, object objstore.Object, light bool, see func(*action.Action) error) error {
	file, err := arrowparquet.Open(object, object.Size(), arrowparquet.Limits{})
	if err != nil {
		return err
	}
	want := readSchema()
	if light {
		want = lightSchema()
	}
	for rec, err := range file.Read(ctx, nil, want, memory.DefaultAllocator) {
		if err != nil {
			return err
		}
		err = readActions(rec, see)
		rec.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// readers turn a row of a column into its action.
func readers() map[string]func(s structs, row int) action.Action {
	return map[string]func(structs, int) action.Action{
		"txn": readTxn, "metaData": readMetadata, "protocol": readProtocol, "domainMetadata": readDomain,
		"add": readAdd, "remove": readRemove, "sidecar": readSidecar,
	}
}

func readActions(rec arrow.RecordBatch, see func(*action.Action) error) error {
	all := readers()
	for c, field := range rec.Schema().Fields() {
		column := newStructs(rec.Column(c))
		read := all[field.Name]
		for row := range int(rec.NumRows()) {
			if column.IsNull(row) {
				continue
			}
			a := read(column, row)
			if isHollow(&a) { // some writers give an absent struct as a struct of nulls
				continue
			}
			if err := a.Validate(); err != nil {
				return fmt.Errorf("column %s, row %d: %w", field.Name, row, err)
			}
			if err := see(&a); err != nil {
				return err
			}
		}
	}
	return nil
}

// isHollow reports whether an action has no key.
func isHollow(a *action.Action) bool {
	switch {
	case a.Txn != nil:
		return a.Txn.AppID == ""
	case a.Metadata != nil:
		return a.Metadata.ID == "" && a.Metadata.Schema == ""
	case a.Protocol != nil:
		return a.Protocol.MinReader == 0 && a.Protocol.MinWriter == 0
	case a.DomainMetadata != nil:
		return a.DomainMetadata.Domain == ""
	case a.Add != nil:
		return a.Add.Path == ""
	case a.Remove != nil:
		return a.Remove.Path == ""
	}
	return a.Sidecar == nil || a.Sidecar.Path == ""
}

func readTxn(s structs, i int) action.Action {
	return action.Action{Txn: &action.Txn{AppID: s.str("appId", i), Version: s.long("version", i), LastUpdated: s.long("lastUpdated", i)}}
}

func readMetadata(s structs, i int) action.Action {
	format := s.sub("format")
	m := &action.Metadata{
		ID: s.str("id", i), Name: s.str("name", i), Description: s.str("description", i), Schema: s.str("schemaString", i),
		Format:      action.FileFormat{Provider: format.str("provider", i), Options: format.stringMap("options", i)},
		PartitionBy: s.list("partitionColumns", i), Configuration: s.stringMap("configuration", i), Created: s.long("createdTime", i),
	}
	if m.PartitionBy == nil {
		m.PartitionBy = []string{}
	}
	return action.Action{Metadata: m}
}

func readProtocol(s structs, i int) action.Action {
	return action.Action{Protocol: &action.Protocol{
		MinReader: int(s.int("minReaderVersion", i)), MinWriter: int(s.int("minWriterVersion", i)),
		ReaderFeatures: s.list("readerFeatures", i), WriterFeatures: s.list("writerFeatures", i),
	}}
}

func readDomain(s structs, i int) action.Action {
	return action.Action{DomainMetadata: &action.DomainMetadata{
		Domain: s.str("domain", i), Configuration: s.str("configuration", i), Removed: s.bool("removed", i),
	}}
}

func readAdd(s structs, i int) action.Action {
	return action.Action{Add: &action.Add{
		Path: s.str("path", i), PartitionValues: s.nullMap("partitionValues", i), Size: s.long("size", i), Modified: s.long("modificationTime", i),
		DataChange: s.bool("dataChange", i), Stats: s.str("stats", i), Tags: s.nullMap("tags", i), DeletionVector: s.vector(i),
		BaseRowID: s.maybeLong("baseRowId", i), RowCommitVersion: s.maybeLong("defaultRowCommitVersion", i), Clustering: s.str("clusteringProvider", i),
	}}
}

func readRemove(s structs, i int) action.Action {
	return action.Action{Remove: &action.Remove{
		Path: s.str("path", i), Deleted: s.long("deletionTimestamp", i), DataChange: s.bool("dataChange", i), ExtendedMetadata: s.bool("extendedFileMetadata", i),
		PartitionValues: s.nullMap("partitionValues", i), Size: s.long("size", i), DeletionVector: s.vector(i),
		BaseRowID: s.maybeLong("baseRowId", i), RowCommitVersion: s.maybeLong("defaultRowCommitVersion", i),
	}}
}

func readSidecar(s structs, i int) action.Action {
	return action.Action{Sidecar: &action.Sidecar{Path: s.str("path", i), Size: s.long("sizeInBytes", i), Modified: s.long("modificationTime", i)}}
}

// row is the value of one action for a struct builder: values by the names of its fields, nil for null.
type row map[string]any

// rowOf gives the column and the row of an action.
func rowOf(a *action.Action) (column string, r row) {
	switch {
	case a.Txn != nil:
		return "txn", row{"appId": a.Txn.AppID, "version": a.Txn.Version, "lastUpdated": orNull(a.Txn.LastUpdated)}
	case a.Metadata != nil:
		m := a.Metadata
		return "metaData", row{
			"id": m.ID, "name": orNull(m.Name), "description": orNull(m.Description), "format": row{"provider": m.Format.Provider, "options": m.Format.Options},
			"schemaString": m.Schema, "partitionColumns": m.PartitionBy, "configuration": m.Configuration, "createdTime": orNull(m.Created),
		}
	case a.Protocol != nil:
		p := a.Protocol
		return "protocol", row{"minReaderVersion": int32(p.MinReader), "minWriterVersion": int32(p.MinWriter), "readerFeatures": p.ReaderFeatures, "writerFeatures": p.WriterFeatures}
	case a.DomainMetadata != nil:
		d := a.DomainMetadata
		return "domainMetadata", row{"domain": d.Domain, "configuration": d.Configuration, "removed": d.Removed}
	case a.Add != nil:
		f := a.Add
		return "add", row{
			"path": f.Path, "partitionValues": f.PartitionValues, "size": f.Size, "modificationTime": f.Modified, "dataChange": false, "stats": orNull(f.Stats), "tags": f.Tags,
			"deletionVector": vectorRow(f.DeletionVector), "baseRowId": f.BaseRowID, "defaultRowCommitVersion": f.RowCommitVersion, "clusteringProvider": orNull(f.Clustering),
		}
	case a.Remove != nil:
		f := a.Remove
		return "remove", row{
			"path": f.Path, "deletionTimestamp": f.Deleted, "dataChange": false, "extendedFileMetadata": f.ExtendedMetadata, "partitionValues": f.PartitionValues,
			"size": orNull(f.Size), "deletionVector": vectorRow(f.DeletionVector), "baseRowId": f.BaseRowID, "defaultRowCommitVersion": f.RowCommitVersion,
		}
	}
	return "", nil
}

func vectorRow(v *action.DeletionVector) any {
	if v == nil {
		return nil
	}
	return row{"storageType": v.Storage, "pathOrInlineDv": v.Path, "offset": v.Offset, "sizeInBytes": v.Size, "cardinality": v.Cardinality}
}

func orNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
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
		for i, f := range s.Type().(*arrow.StructType).Fields() {
			appendValue(s.FieldBuilder(i), v[f.Name])
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
