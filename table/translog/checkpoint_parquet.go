package translog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
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
	want, groups := readSchema(), []int(nil)
	if light {
		want = lightSchema()
		groups = groupsWith(file, want)
	}
	return readGroups(ctx, file, groups, want, see)
}

// readGroups shows the actions in row groups of a file (nil: all).
func readGroups(ctx context.Context, file *arrowparquet.File, groups []int, want *arrow.Schema, see func(*action.Action) error) error {
	for rec, err := range file.Read(ctx, groups, want, memory.DefaultAllocator) {
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

// groupsWith are the row groups whose statistics leave it open that they hold an action of a column of the schema: of those with files alone nothing is read.
func groupsWith(file *arrowparquet.File, want *arrow.Schema) []int {
	groups := []int{}
	for i, g := range file.RowGroups() {
		empty := true
		for _, c := range g.Columns {
			// An action has one of its fields that are no lists or maps at least: see isHollow.
			wanted := slices.ContainsFunc(want.Fields(), func(f arrow.Field) bool { return strings.EqualFold(f.Name, c.Path[0]) })
			if wanted && !c.Repeated && c.Nulls != g.Rows {
				empty = false
			}
		}
		if !empty {
			groups = append(groups, i)
		}
	}
	return groups
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
	format := s.subs["format"]
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
