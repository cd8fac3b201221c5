package foreachbatch

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// MergeConfig says how rows are merged into a table.
type MergeConfig struct {
	// Table is the name of the table as SQL has it, quoted where it must be: "orders", `"my schema".orders`. It must exist and have the batch's columns.
	Table string
	// Keys are the columns that identify a row. A null key is a key like any other.
	Keys []string
	// OrderBy is the column whose highest value counts when a batch has a key several times. "" if that cannot be: then rows that differ are an error.
	OrderBy string
	// Operation is the column that says what a row does, "" if all rows are inserted or updated. It is not a column of the table.
	Operation string
	// Deletes are the values of Operation that delete the row of the key.
	Deletes []string
}

// stageTable holds the batch in the transaction.
const stageTable = "microbatch_batch"

// maxParameters bounds a statement's parameters. PostgreSQL takes 65,535, SQLite 32,766; longer statements are no faster.
const maxParameters = 4_000

// Merge makes a function for Config.Func that merges each batch into a table, in one transaction that a ledger keeps exactly once (see Ledger): rows whose key is there
// replace it or delete it, others are inserted. It works with any database that Ledger works with and needs no index. For PostgreSQL the sink of its own is many
// times faster.
func Merge(db *sql.DB, c MergeConfig) func(ctx context.Context, b Batch) error {
	return Ledger(db, func(ctx context.Context, tx *sql.Tx, b Batch) error {
		m, err := newMerging(c, b.Schema)
		if err != nil {
			return err
		}
		return m.run(ctx, tx, b)
	})
}

// merging is a merge of one schema.
type merging struct {
	MergeConfig
	columns []string // of the table, in order of the schema
	at      []int    // their places in the schema
	order   int      // place of OrderBy; -1
	op      int      // place of Operation; -1
}

func newMerging(c MergeConfig, schema *arrow.Schema) (*merging, error) {
	m := &merging{MergeConfig: c, order: -1, op: -1}
	place := func(what, name string) (int, error) {
		if found := schema.FieldIndices(name); len(found) == 1 {
			return found[0], nil
		}
		return -1, fmt.Errorf("merge: the batch has no column %s, which is %s", name, what)
	}
	var err error
	if len(c.Keys) == 0 {
		return nil, errors.New("merge: at least one key is required")
	}
	for _, k := range c.Keys {
		if _, err = place("a key", k); err != nil {
			return nil, err
		}
	}
	if c.OrderBy != "" {
		if m.order, err = place("the order", c.OrderBy); err != nil {
			return nil, err
		}
	}
	if c.Operation != "" {
		if m.op, err = place("the operation", c.Operation); err != nil {
			return nil, err
		}
	}
	for i, f := range schema.Fields() {
		if i != m.op {
			m.columns, m.at = append(m.columns, f.Name), append(m.at, i)
		}
	}
	return m, nil
}

// run stages the batch in a temporary table, finds the row of each key that counts, and replaces what is there.
func (m *merging) run(ctx context.Context, tx *sql.Tx, b Batch) error {
	columns := quoted("", m.columns)
	same := sameKeys(m.Table, "s", m.Keys)
	do := func(what, text string) error {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("merge: %s: %w", what, err)
		}
		return nil
	}
	if err := do("stage", fmt.Sprintf("CREATE TEMPORARY TABLE %s AS SELECT %s, 1 AS microbatch_deletes FROM %s WHERE 1 = 0", stageTable, columns, m.Table)); err != nil {
		return err
	}
	if err := m.stage(ctx, tx, b); err != nil {
		return err
	}
	if err := m.unique(ctx, tx); err != nil {
		return err
	}
	for _, step := range [][2]string{
		{"delete", fmt.Sprintf("DELETE FROM %s WHERE EXISTS (SELECT 1 FROM %s AS s WHERE %s)", m.Table, stageTable, same)},
		{"insert", fmt.Sprintf("INSERT INTO %s (%s) SELECT DISTINCT %s FROM %s WHERE microbatch_deletes = 0", m.Table, columns, columns, stageTable)},
		{"unstage", "DROP TABLE " + stageTable},
	} {
		if err := do(step[0], step[1]); err != nil {
			return err
		}
	}
	return nil
}

// unique leaves of each key the rows that are highest in the order; that they are all the same is checked.
func (m *merging) unique(ctx context.Context, tx *sql.Tx) error {
	if m.OrderBy != "" {
		o := quote(m.OrderBy)
		text := fmt.Sprintf("DELETE FROM %s WHERE EXISTS (SELECT 1 FROM %s AS s WHERE %s AND (s.%s > %s.%s OR s.%s IS NOT NULL AND %s.%s IS NULL))",
			stageTable, stageTable, sameKeys(stageTable, "s", m.Keys), o, stageTable, o, o, stageTable, o)
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("merge: order: %w", err)
		}
	}
	var keys int64
	text := fmt.Sprintf("SELECT count(*) FROM (SELECT %s FROM (SELECT DISTINCT %s, microbatch_deletes FROM %s) AS d GROUP BY %s HAVING count(*) > 1) AS twice",
		quoted("", m.Keys), quoted("", m.columns), stageTable, quoted("", m.Keys))
	if err := tx.QueryRowContext(ctx, text).Scan(&keys); err != nil {
		return fmt.Errorf("merge: look for keys with several rows: %w", err)
	}
	if keys > 0 {
		return fmt.Errorf("merge: %d keys have several rows in the batch that differ, and nothing says which is the last: order them by a column", keys)
	}
	return nil
}

// stage inserts the batch's rows, many to a statement.
func (m *merging) stage(ctx context.Context, tx *sql.Tx, b Batch) error {
	reader, err := b.Rows()
	if err != nil {
		return err
	}
	defer reader.Release()
	var args []any
	flush := func() error {
		if len(args) == 0 {
			return nil
		}
		if _, err := tx.ExecContext(ctx, m.insert(len(args)/(len(m.at)+1)), args...); err != nil {
			return fmt.Errorf("merge: stage rows: %w", err)
		}
		args = args[:0]
		return nil
	}
	for reader.Next() {
		r := reader.RecordBatch()
		for row := range int(r.NumRows()) {
			for _, i := range m.at {
				v, err := box(r.Column(i), row)
				if err != nil {
					return err
				}
				args = append(args, v)
			}
			deletes, err := m.deletes(r, row)
			if err != nil {
				return err
			}
			if args = append(args, deletes); len(args)+len(m.at)+1 > maxParameters {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return errors.Join(reader.Err(), flush())
}

// deletes is 1 for a row that deletes its key.
func (m *merging) deletes(r arrow.RecordBatch, row int) (int64, error) {
	if m.op < 0 {
		return 0, nil
	}
	v, err := box(r.Column(m.op), row)
	if text, ok := v.(string); ok && slices.Contains(m.Deletes, text) {
		return 1, err
	}
	return 0, err
}

func (m *merging) insert(rows int) string {
	var s strings.Builder
	s.WriteString("INSERT INTO " + stageTable + " VALUES ")
	n := 1
	for row := range rows {
		if row > 0 {
			s.WriteByte(',')
		}
		before := "($"
		for range len(m.at) + 1 {
			s.WriteString(before + strconv.Itoa(n))
			before = ",$"
			n++
		}
		s.WriteByte(')')
	}
	return s.String()
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// quoted is a list of columns, of a table if one is named.
func quoted(table string, names []string) string {
	var out []string
	for _, n := range names {
		if table != "" {
			n = table + "." + quote(n)
		} else {
			n = quote(n)
		}
		out = append(out, n)
	}
	return strings.Join(out, ", ")
}

// sameKeys is the condition that two rows have the same key.
func sameKeys(a, b string, keys []string) string {
	var out []string
	for _, k := range keys {
		out = append(out, fmt.Sprintf("%s.%s IS NOT DISTINCT FROM %s.%s", a, quote(k), b, quote(k)))
	}
	return strings.Join(out, " AND ")
}
