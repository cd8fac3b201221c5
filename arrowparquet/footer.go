package arrowparquet

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// createdBy names the writer in the form that readers parse: application, version, build.
const createdBy = "microbatch version 0.1.0 (build go)"

// footer is the end of the file: metadata, its length, magic.
func (w *Writer) footer() ([]byte, error) {
	meta := format.FileMetaData{Version: 1, NumRows: w.rows, RowGroups: w.groups, CreatedBy: createdBy}
	if meta.RowGroups == nil { // required, even when empty
		meta.RowGroups = []format.RowGroup{}
	}
	meta.Schema = []format.SchemaElement{{Name: "schema", NumChildren: thrift.New(int32(len(w.roots)))}}
	for _, n := range w.roots {
		meta.Schema = n.elements(meta.Schema)
	}
	for range w.leaves {
		meta.ColumnOrders = append(meta.ColumnOrders, format.ColumnOrder{Value: &format.TypeDefinedOrder{}})
	}
	for _, key := range slices.Sorted(maps.Keys(w.options.Metadata)) {
		meta.KeyValueMetadata = append(meta.KeyValueMetadata, format.KeyValue{Key: key, Value: w.options.Metadata[key]})
	}
	return encodeFooter(&meta)
}

func encodeFooter(meta *format.FileMetaData) ([]byte, error) {
	b, err := thrift.Marshal(new(thrift.CompactProtocol), meta)
	if err != nil {
		return nil, fmt.Errorf("arrowparquet: footer: %w", err)
	}
	if len(b) > 1<<31-1 {
		return nil, fmt.Errorf("arrowparquet: a footer of %d bytes is too large", len(b))
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(b)))
	return append(b, magic...), nil
}
