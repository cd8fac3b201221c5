package table

import (
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/internal/errcode"
	"microbatch/schema"
	"microbatch/table/action"
	"microbatch/table/datafile"
	"microbatch/table/translog"
)

// Definition is what a new table is made of.
type Definition struct {
	Schema      *arrow.Schema // canonical types of package schema; every column becomes nullable
	PartitionBy []string
	Properties  map[string]string
	Description string
}

// Validate reports why a table cannot be made like this: names, types, partition columns, properties.
func (d Definition) Validate(format translog.Format) error {
	_, _, err := d.actions(format)
	return err
}

// settable are the delta.* properties that a new table may have: those that ask nothing of readers or writers.
var settable = []string{
	"delta.appendOnly", "delta.checkpointInterval", "delta.logRetentionDuration", "delta.deletedFileRetentionDuration", "delta.enableExpiredLogCleanup",
	"delta.dataSkippingNumIndexedCols",
}

// featureNTZ opts in to timestamps without zone, which older readers of Delta cannot read.
const featureNTZ = "delta.feature.timestampNtz"

func (d Definition) actions(format translog.Format) (*action.Protocol, *action.Metadata, error) {
	canonical, err := schema.Canonical(d.Schema)
	if err != nil {
		return nil, nil, errcode.TableColumn.Wrap(err, "", "")
	}
	if err := schema.CheckNames(canonical); err != nil {
		return nil, nil, errcode.TableColumn.Wrap(err, "", "")
	}
	columns, err := partitionColumns(canonical, d.PartitionBy)
	if err != nil {
		return nil, nil, err
	}
	canonical = allNullable(canonical)
	text, err := schema.ToDelta(canonical)
	if err != nil {
		return nil, nil, errcode.TableColumn.Wrap(err, "", "")
	}
	protocol := &action.Protocol{MinReader: 1, MinWriter: 2}
	configuration := map[string]string{}
	for name, value := range d.Properties {
		if name == featureNTZ {
			continue
		}
		if strings.HasPrefix(name, "delta.") && !slices.Contains(settable, name) {
			return nil, nil, errcode.TableFeature.New("property "+name, "not supported; supported are %s", strings.Join(append(slices.Clone(settable), featureNTZ), ", "))
		}
		configuration[name] = value
	}
	if hasNTZ(arrow.StructOf(canonical.Fields()...)) {
		if format == translog.Delta && d.Properties[featureNTZ] != "supported" {
			return nil, nil, errcode.TableColumn.New("", "a TIMESTAMP_NTZ column needs a Delta table of protocol (3,7), which older readers refuse").
				Advise("Cast the column to TIMESTAMP, or set the table property %s: supported.", featureNTZ)
		}
		protocol = &action.Protocol{
			MinReader: 3, MinWriter: 7,
			ReaderFeatures: []string{"timestampNtz"}, WriterFeatures: []string{"appendOnly", "invariants", "timestampNtz"},
		}
	}
	return protocol, &action.Metadata{
		Description: d.Description, Format: action.FileFormat{Provider: "parquet", Options: map[string]string{}},
		Schema: text, PartitionBy: columns, Configuration: configuration,
	}, nil
}

// partitionColumns are the columns in the schema's own spelling.
func partitionColumns(s *arrow.Schema, by []string) ([]string, error) {
	out := []string{}
	for _, name := range by {
		i := slices.IndexFunc(s.Fields(), func(f arrow.Field) bool { return strings.EqualFold(f.Name, name) })
		if i < 0 {
			return nil, errcode.TablePartitions.New("partition_by "+name, "the rows have no such column; they have %s", strings.Join(fieldNames(s), ", "))
		}
		f := s.Field(i)
		if !datafile.CanPartition(f.Type) {
			return nil, errcode.TablePartitions.New("partition_by "+name, "a column of type %s cannot be a partition column", schema.TypeDDL(f.Type))
		}
		if slices.Contains(out, f.Name) {
			return nil, errcode.TablePartitions.New("partition_by "+name, "named twice")
		}
		out = append(out, f.Name)
	}
	if len(out) > 0 && len(out) == s.NumFields() {
		return nil, errcode.TablePartitions.New("partition_by", "at least one column must not be a partition column")
	}
	return out, nil
}

func fieldNames(s *arrow.Schema) []string {
	var names []string
	for _, f := range s.Fields() {
		names = append(names, f.Name)
	}
	return names
}

// allNullable is a schema without NOT NULL, except for the keys of maps: the lowest protocol then writes and reads it everywhere.
func allNullable(s *arrow.Schema) *arrow.Schema {
	md := s.Metadata()
	return arrow.NewSchema(nullableFields(s.Fields()), &md)
}

func nullableFields(fields []arrow.Field) []arrow.Field {
	out := make([]arrow.Field, len(fields))
	for i, f := range fields {
		out[i] = arrow.Field{Name: f.Name, Type: nullableType(f.Type), Nullable: true, Metadata: f.Metadata}
	}
	return out
}

func nullableType(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.StructType:
		return arrow.StructOf(nullableFields(t.Fields())...)
	case *arrow.ListType:
		return schema.List(nullableType(t.Elem()), true)
	case *arrow.MapType:
		return schema.Map(t.KeyType(), nullableType(t.ItemType()), true)
	}
	return t
}

func hasNTZ(t arrow.DataType) bool {
	if ts, ok := t.(*arrow.TimestampType); ok {
		return ts.TimeZone == ""
	}
	if n, ok := t.(arrow.NestedType); ok {
		return slices.ContainsFunc(n.Fields(), func(f arrow.Field) bool { return hasNTZ(f.Type) })
	}
	return false
}
