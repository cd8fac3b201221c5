package table

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/internal/errcode"
	"microbatch/schema"
	"microbatch/table/action"
	"microbatch/table/datafile"
	"microbatch/table/translog"
)

// Snapshot is a table at one version. It never changes.
type Snapshot struct {
	log    *translog.Log
	state  *translog.State
	schema *arrow.Schema
}

// newSnapshot reads the schema, unless it is that of an earlier snapshot (nil: none).
func newSnapshot(log *translog.Log, state *translog.State, earlier *Snapshot) (*Snapshot, error) {
	s := &Snapshot{log: log, state: state}
	if earlier != nil && earlier.state.Metadata.Schema == state.Metadata.Schema && earlier.state.Protocol.MinReader == state.Protocol.MinReader {
		s.schema = earlier.schema
		return s, nil
	}
	if err := log.CheckRead(state); err != nil {
		return nil, err
	}
	var err error
	if s.schema, err = schema.FromDelta(state.Metadata.Schema); err != nil {
		return nil, errcode.TableFeature.Wrap(err, log.Store().URL(), "its schema cannot be read")
	}
	return s, nil
}

// State is what the log says about the version.
func (s *Snapshot) State() *translog.State { return s.state }

// Version is the snapshot's version.
func (s *Snapshot) Version() int64 { return s.state.Version }

// ID is the table's identity: a table that was dropped and made again has another.
func (s *Snapshot) ID() string { return s.state.Metadata.ID }

// Schema is the table's schema in canonical types, with the partition columns.
func (s *Snapshot) Schema() *arrow.Schema { return s.schema }

// PartitionBy are the partition columns.
func (s *Snapshot) PartitionBy() []string { return s.state.Metadata.PartitionBy }

// Properties are the table's properties. The map is the caller's.
func (s *Snapshot) Properties() map[string]string { return maps.Clone(s.state.Metadata.Configuration) }

// Txn is the newest version that an application has committed, ok false if none.
func (s *Snapshot) Txn(appID string) (version int64, ok bool) { return s.state.Txn(appID) }

// Files are the live data files in order of their paths, read from the log.
func (s *Snapshot) Files(ctx context.Context) ([]*action.Add, error) {
	files, err := s.log.Files(ctx, s.state.Version)
	if err != nil {
		return nil, err
	}
	return files.Sorted(), nil
}

// Read yields all rows, file by file, with the columns named (nil: all) in that order. The receiver releases the records. The sequence ends after the
// first error.
func (s *Snapshot) Read(ctx context.Context, columns []string, alloc memory.Allocator) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		want, err := s.project(columns)
		if err != nil {
			yield(nil, err)
			return
		}
		files, err := s.Files(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		r := &datafile.Reader{Store: s.log.Store(), Schema: want, PartitionBy: s.PartitionBy(), Alloc: alloc}
		for _, add := range files {
			for rec, err := range r.Read(ctx, add) {
				if !yield(rec, err) || err != nil {
					return
				}
			}
		}
	}
}

func (s *Snapshot) project(columns []string) (*arrow.Schema, error) {
	if columns == nil {
		return s.schema, nil
	}
	fields := make([]arrow.Field, 0, len(columns))
	for _, name := range columns {
		i := slices.IndexFunc(s.schema.Fields(), func(f arrow.Field) bool { return strings.EqualFold(f.Name, name) })
		if i < 0 {
			return nil, errcode.TableSchema.New("column "+name, "the table has %s", strings.Join(fieldNames(s.schema), ", "))
		}
		fields = append(fields, s.schema.Field(i))
	}
	return arrow.NewSchema(fields, nil), nil
}
