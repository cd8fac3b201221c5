package lakehouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/internal/errcode"
	"microbatch/table"
	"microbatch/table/merge"
	"microbatch/table/translog"
)

// Modes say what a batch does to the rows that the table has.
const (
	Append              = "append"               // it adds its rows
	Upsert              = "upsert"               // a row takes the place of the one with its key, or takes it out
	Overwrite           = "overwrite"            // the batch takes the place of all rows
	OverwritePartitions = "overwrite_partitions" // it takes the place of the partitions that it has rows of
)

// Merge says how rows are matched with those of the table.
type Merge struct {
	Mode            string   // Append (default), Upsert, Overwrite or OverwritePartitions
	Keys            []string // for Upsert: the columns that tell rows apart
	OrderBy         []string // of rows of one key in a batch the one counts that is highest in these columns, without any the last; for DeduplicateBy the lowest
	OperationColumn string   // for Upsert: the column that says whether a row takes its key out; it is not part of the table
	DeleteValues    []string // of OperationColumn, without regard to case; delete and d if empty
	DeduplicateBy   []string // for Append: rows are dropped whose values in these columns the table has already
}

// keyed reports whether rows are matched with those of the table.
func (m Merge) keyed() bool { return len(m.keys()) > 0 }

func (m Merge) keys() []string {
	if m.Mode == Upsert {
		return m.Keys
	}
	return m.DeduplicateBy
}

// replaces reports whether files are taken out of the table.
func (m Merge) replaces() bool { return m.Mode != Append }

// withDefaults fills in what is zero and reports all that is wrong.
func (m Merge) withDefaults() (Merge, error) {
	m.Mode = or(m.Mode, Append)
	if m.OperationColumn != "" && len(m.DeleteValues) == 0 {
		m.DeleteValues = []string{"delete", "d"}
	}
	errs := []error{oneOf("mode", m.Mode, Append, Upsert, Overwrite, OverwritePartitions)}
	wrong := func(is bool, text string) {
		if is {
			errs = append(errs, errors.New(text))
		}
	}
	wrong(m.Mode == Upsert && len(m.Keys) == 0, "keys: mode upsert needs the columns that tell rows apart")
	wrong(m.Mode != Upsert && len(m.Keys) > 0, "keys: they are for mode upsert")
	wrong(m.Mode != Upsert && m.OperationColumn != "", "operation_column: it is for mode upsert")
	wrong(m.OperationColumn == "" && len(m.DeleteValues) > 0, "delete_values: they are values of operation_column")
	wrong(m.Mode != Append && len(m.DeduplicateBy) > 0, "deduplicate_by: it is for mode append")
	wrong(!m.keyed() && len(m.OrderBy) > 0, "order_by: it decides between rows of one key; there are no keys")
	wrong(slices.ContainsFunc(slices.Concat(m.Keys, m.OrderBy), func(k string) bool { return strings.EqualFold(k, m.OperationColumn) }),
		"operation_column: it is not part of the table, so it can be neither a key nor in order_by")
	return m, errors.Join(errs...)
}

// identity is what of it may not change while a query lives. Plain appending has none, as before there were modes.
func (m Merge) identity(into map[string]any) {
	if m.Mode != Append {
		into["mode"] = m.Mode
	}
	for name, columns := range map[string][]string{"keys": m.Keys, "order_by": m.OrderBy, "delete_values": m.DeleteValues, "deduplicate_by": m.DeduplicateBy} {
		if len(columns) > 0 {
			into[name] = columns
		}
	}
	if m.OperationColumn != "" {
		into["operation_column"] = m.OperationColumn
	}
}

// check says whether rows have the columns that the mode needs.
func (m Merge) check(rows *arrow.Schema, url string) error {
	if err := merge.CheckOperation(rows, m.OperationColumn); err != nil {
		return errcode.TableKeys.Wrap(err, url, "operation_column")
	}
	if !m.keyed() {
		return nil
	}
	_, err := m.rule(rows, nil, url)
	return err
}

// rule is what package merge has to know.
func (m Merge) rule(rows *arrow.Schema, partitionBy []string, url string) (merge.Rule, error) {
	r := merge.Rule{First: m.Mode == Append, Operation: m.OperationColumn, Deletes: m.DeleteValues}
	var err error
	if r.Keys, err = merge.NewColumns(rows, m.keys(), partitionBy); err == nil {
		err = r.Keys.CheckKeys()
	}
	if err != nil {
		return r, errcode.TableKeys.Wrap(err, url, "%s", strings.Join(m.keys(), ", "))
	}
	if len(m.OrderBy) > 0 {
		if r.Order, err = merge.NewColumns(rows, m.OrderBy, partitionBy); err != nil {
			return r, errcode.TableKeys.Wrap(err, url, "order_by")
		}
	}
	return r, nil
}

// suits says whether the mode may be used on a table.
func (m Merge) suits(snap *table.Snapshot, url string) error {
	if !m.replaces() {
		return nil
	}
	if strings.EqualFold(snap.State().Property("delta.appendOnly"), "true") {
		return errcode.TableAppendOnly.New(url, "the property delta.appendOnly is true, and mode %s takes rows out", m.Mode)
	}
	if m.Mode == Upsert && strings.EqualFold(snap.State().Property("delta.enableChangeDataFeed"), "true") {
		return errcode.TableFeature.New(url, "writing with mode %s it needs a change data feed (delta.enableChangeDataFeed), which is not supported", m.Mode)
	}
	return nil
}

// Ordered reports whether the order in which rows come decides what becomes of them.
func (s *Sink) Ordered() bool { return s.cfg.Merge.Mode == Upsert && len(s.cfg.Merge.OrderBy) == 0 }

// latest is the newest version of the table: what the batch is put into has to be what others have made of it.
func (s *Sink) latest(ctx context.Context, t *table.Table) (*table.Snapshot, error) {
	snap, err := t.Refresh(ctx)
	if err != nil {
		return nil, fmt.Errorf("refresh %s: %w", s.cfg.URL, err)
	}
	return snap, s.cfg.Merge.suits(snap, s.cfg.URL)
}

// refuse says what of the settings does not go together with the modes.
func (c Config) refuse() (errs []error) {
	if c.Merge.Mode == OverwritePartitions && len(c.PartitionBy) == 0 {
		errs = append(errs, errors.New("mode overwrite_partitions: the table has no partition_by"))
	}
	if !c.Merge.replaces() {
		return errs
	}
	if c.Format == string(translog.Parquet) && !c.AllowReplacedFiles {
		errs = append(errs, fmt.Errorf("mode %s: with format parquet the replaced files stay visible to plain Parquet readers until vacuum: set allow_replaced_files: true, or use format delta", c.Merge.Mode))
	}
	if strings.EqualFold(c.Properties["delta.appendOnly"], "true") {
		errs = append(errs, fmt.Errorf("mode %s: the property delta.appendOnly forbids it", c.Merge.Mode))
	}
	return errs
}
