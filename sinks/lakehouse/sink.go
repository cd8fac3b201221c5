package lakehouse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/schema"
	"microbatch/sinks"
	"microbatch/table"
	"microbatch/table/datafile"
	"microbatch/table/maintain"
	"microbatch/table/merge"
	"microbatch/table/translog"
)

// Sink commits batches to one table.
type Sink struct {
	cfg     Config
	parquet datafile.ParquetOptions

	mu    sync.Mutex
	table *table.Table  // nil before it is known to exist
	rows  *arrow.Schema // of the batches, as it came to Check
	query sinks.QueryInfo
	// undated is a batch that was visible without a digest (Spark wrote it) when it was recovered: it is taken for ours once.
	undated ident.BatchID
	// last is the newest batch of ours that was seen in the log: it may never go down.
	last ident.BatchID

	live following      // of the modes that look at the table's files
	done *maintain.Done // when upkeep was done last; nil before the first call of Maintain
}

var (
	_ sinks.Sink       = (*Sink)(nil)
	_ sinks.Maintainer = (*Sink)(nil)
	_ sinks.Sweeper    = (*Sink)(nil)
	_ sinks.Fencer     = (*Sink)(nil)
)

// New makes a sink. It reads and writes nothing. The error lists all that is wrong with the settings.
func New(c Config) (*Sink, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("lakehouse: %w", err)
	}
	parquet, err := datafile.Parquet(c.Compression, c.Encoding)
	if err != nil {
		return nil, fmt.Errorf("lakehouse: %w", err)
	}
	return &Sink{cfg: c, parquet: parquet, undated: ident.NoBatch, last: ident.NoBatch}, nil
}

// Describe is the configuration; after Check or Recover with the table's id. The id is the table's identity, not its place: a table may be moved with its
// checkpoint, and another table in the same place is another table.
func (s *Sink) Describe() ident.Description {
	d := ident.Description{
		Kind: "table", Name: fmt.Sprintf("Table[%s, %s]", s.cfg.URL, s.cfg.Format),
		Identity:  map[string]any{"format": s.cfg.Format, "partition_by": append([]string{}, s.cfg.PartitionBy...)},
		Evolution: map[string]any{"schema_evolution": s.cfg.SchemaEvolution},
		Learned:   map[string]string{},
	}
	s.cfg.Merge.identity(d.Identity)
	if t := s.opened(); t != nil {
		d.Learned["table_id"] = t.Snapshot().ID()
	}
	return d
}

func (s *Sink) opened() *table.Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table
}

// Table is the handle on the table; nil before Check or Recover has found or made it.
func (s *Sink) Table() *table.Table { return s.opened() }

// Check compares the rows with the table, or with what a new table may be. It writes nothing.
func (s *Sink) Check(ctx context.Context, in *arrow.Schema) error {
	if _, err := schema.Canonical(in); err != nil {
		return errcode.TableColumn.Wrap(err, s.cfg.URL, "")
	}
	if err := s.cfg.Merge.check(in, s.cfg.URL); err != nil {
		return err
	}
	s.mu.Lock()
	s.rows = merge.Without(in, s.cfg.Merge.OperationColumn)
	s.mu.Unlock()
	t, err := s.open(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		none := s.checkNew(ctx)
		if !errcode.Has(none, errcode.TableNoLog) {
			return none
		}
		if t, err = s.open(ctx); errors.Is(err, fs.ErrNotExist) { // else another start has made the table since we looked, and written the file
			return none
		}
	}
	if err != nil {
		return err
	}
	return s.checkExisting(t.Snapshot())
}

// open opens the table, or refreshes it. fs.ErrNotExist: there is none.
func (s *Sink) open(ctx context.Context) (*table.Table, error) {
	if t := s.opened(); t != nil {
		_, err := t.Refresh(ctx)
		return t, err
	}
	t, err := table.Open(ctx, s.cfg.Store, table.Options{Format: translog.Format(s.cfg.Format), Now: s.cfg.Now})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table = t
	return t, nil
}

func (s *Sink) definition() table.Definition {
	return table.Definition{Schema: s.rows, PartitionBy: s.cfg.PartitionBy, Properties: s.cfg.Properties}
}

// checkNew looks at a place where there is no table.
func (s *Sink) checkNew(ctx context.Context) error {
	if err := s.definition().Validate(translog.Format(s.cfg.Format)); err != nil {
		return err
	}
	for info, err := range s.cfg.Store.List(ctx, "", "") {
		if err != nil {
			return fmt.Errorf("list %s: %w", s.cfg.URL, err)
		}
		if strings.HasSuffix(info.Key, ".parquet") && !strings.HasPrefix(info.Key, "_") {
			return errcode.TableNoLog.New(s.cfg.URL+"/"+info.Key, "")
		}
	}
	return nil
}

func (s *Sink) checkExisting(snap *table.Snapshot) error {
	if err := s.table.Log().CheckWrite(snap.State()); err != nil {
		return err
	}
	if !slices.EqualFunc(snap.PartitionBy(), s.cfg.PartitionBy, strings.EqualFold) {
		return errcode.TablePartitions.New(s.cfg.URL, "the table is partitioned by [%s], the pipeline says [%s]",
			strings.Join(snap.PartitionBy(), ", "), strings.Join(s.cfg.PartitionBy, ", "))
	}
	if err := s.cfg.Merge.suits(snap, s.cfg.URL); err != nil {
		return err
	}
	if s.rows == nil { // only an epoch is to be committed
		return nil
	}
	_, err := s.merged(snap, s.rows)
	return err
}

// merged is the table's schema after rows of a schema.
func (s *Sink) merged(snap *table.Snapshot, rows *arrow.Schema) (*arrow.Schema, error) {
	canonical, err := schema.Canonical(rows)
	if err != nil {
		return nil, errcode.TableColumn.Wrap(err, s.cfg.URL, "")
	}
	merged, err := schema.Merge(snap.Schema(), canonical, s.cfg.SchemaEvolution == AddColumns)
	if err == nil && merged == snap.Schema() {
		err = schema.Compatible(snap.Schema(), canonical)
	}
	if err != nil {
		return nil, errcode.TableSchema.Wrap(err, s.cfg.URL, "the rows do not fit the table at version %d", snap.Version())
	}
	if merged == snap.Schema() {
		return merged, nil
	}
	if err := schema.CheckNames(merged); err != nil {
		return nil, errcode.TableColumn.Wrap(err, s.cfg.URL, "")
	}
	return merged, nil
}

// Visible is the newest batch of the query in the table. What it says is durable.
func (s *Sink) Visible(ctx context.Context, q sinks.QueryInfo) (sinks.Visible, error) {
	v := sinks.Visible{Keeps: true, Batch: ident.NoBatch}
	t, err := s.open(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	state := t.Snapshot().State()
	if err := t.Log().Durable(ctx, state); err != nil {
		return v, err
	}
	id := identityOf(q, s.cfg.AppSuffix)
	if batch, ok := state.Txn(id.app); ok {
		v.Batch = ident.BatchID(batch)
	}
	if digest, ok := state.Txn(id.digest); ok && ident.StoredDigest(digest).OfBatch(v.Batch) && v.Batch >= 0 {
		v.Digest, v.HasDigest = ident.StoredDigest(digest), true
	}
	if epoch, ok := state.Txn(id.epoch); ok {
		v.Epoch = ident.Epoch(epoch)
	}
	for _, appID := range slices.Sorted(maps.Keys(state.Txns)) {
		if other, ok := id.other(appID); ok {
			v.Others = append(v.Others, other)
		}
	}
	return v, nil
}

// Recover makes the table if it is missing, and remembers who commits.
func (s *Sink) Recover(ctx context.Context, q sinks.QueryInfo, pending *sinks.Intent) error {
	if err := s.ensure(ctx); err != nil {
		return err
	}
	v, err := s.Visible(ctx, q)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.query, s.last, s.undated = q, v.Batch, ident.NoBatch
	if pending != nil && v.Batch == pending.ID && !v.HasDigest {
		s.undated = v.Batch
	}
	return nil
}

// ensure opens the table or makes it.
func (s *Sink) ensure(ctx context.Context) error {
	t, err := s.open(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		if s.opened() != nil {
			return errcode.TableReplaced.Wrap(err, s.cfg.URL, "its log is gone")
		}
		t, err = table.Create(ctx, s.cfg.Store, table.Options{Format: translog.Format(s.cfg.Format), Now: s.cfg.Now}, s.definition())
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.table = t
	s.mu.Unlock()
	return s.checkExisting(t.Snapshot())
}

// Close frees nothing: a table holds nothing open.
func (s *Sink) Close() error { return nil }
