package lakehouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/cockroachdb/datadriven"

	"microbatch/batch"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/schema"
	"microbatch/sinks"
	"microbatch/sinks/sinktest"
	"microbatch/table"
	"microbatch/table/action"
	"microbatch/table/maintain"
	"microbatch/table/merge"
	"microbatch/table/translog"
)

// merges runs the scripts of testdata/merge: tables of rows before, of batches, and of rows after.
type merges struct {
	t       *testing.T
	place   place
	schema  *arrow.Schema // of the batches
	sink    *Sink
	next    ident.BatchID
	pending sinks.Pending
}

func TestMergeScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/merge", func(t *testing.T, path string) {
		m := &merges{t: t}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, err := m.run(t.Context(), d)
			if err != nil {
				return "error: " + shortError(err) + "\n"
			}
			return out
		})
	})
}

// shortError is an error without what differs from run to run.
func shortError(err error) string {
	if e, ok := errors.AsType[*errcode.Error](err); ok {
		text := e.Msg
		if e.Err != nil {
			text = strings.TrimPrefix(text+": "+e.Err.Error(), ": ")
		}
		return fmt.Sprintf("%s %s: %s", e.Code.ID, e.Code.Title, text)
	}
	return err.Error()
}

func (m *merges) run(ctx context.Context, d *datadriven.TestData) (string, error) {
	switch d.Cmd {
	case "table":
		return "", m.table(ctx, d)
	case "batch":
		if err := m.prepare(ctx, d); err != nil {
			return "", err
		}
		out, err := m.commit(ctx)
		return out, err
	case "prepare":
		if err := m.prepare(ctx, d); err != nil {
			return "", err
		}
		st := m.pending.Staged()
		return fmt.Sprintf("%d rows, %d dropped\n", st.Rows, st.Dropped), nil
	case "commit":
		return m.commit(ctx)
	case "foreign":
		return "", m.foreign(ctx, d)
	case "optimize":
		tbl, err := table.Open(ctx, m.place.store, table.Options{})
		if err != nil {
			return "", err
		}
		r, err := tbl.Optimize(ctx, maintain.OptimizeOptions{Force: true})
		return fmt.Sprintf("%d files of %d\n", r.Made, r.Removed), err
	case "files":
		return m.files(ctx)
	case "rows":
		return m.rows(ctx)
	}
	return "", fmt.Errorf("unknown command %s", d.Cmd)
}

func values(d *datadriven.TestData, key string) (out []string) {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			out = append(out, a.Vals...)
		}
	}
	return out
}

func value(d *datadriven.TestData, key string) string { return strings.Join(values(d, key), ",") }

// table begins anew. The input is the schema of the batches.
func (m *merges) table(ctx context.Context, d *datadriven.TestData) error {
	s, err := schema.ParseDDL(strings.TrimSpace(d.Input))
	if err != nil {
		return err
	}
	m.schema, m.next = s, 0
	m.place = newPlace(or(value(d, "format"), "delta"), values(d, "partition")...)
	c := Config{
		Store: m.place.store, Format: m.place.format, PartitionBy: m.place.by, TempDir: m.t.TempDir(), AllowReplacedFiles: d.HasArg("allowed"),
		Merge: Merge{
			Mode: value(d, "mode"), Keys: values(d, "keys"), OrderBy: values(d, "order"), OperationColumn: value(d, "operation"),
			DeleteValues: values(d, "deletes"), DeduplicateBy: values(d, "by"),
		},
	}
	if p := value(d, "properties"); p != "" {
		c.Properties = map[string]string{p: "true"}
	}
	if m.sink, err = New(c); err != nil {
		return err
	}
	if err := m.sink.Check(ctx, s); err != nil {
		return err
	}
	return m.sink.Recover(ctx, sinktest.Query("q", 1), nil)
}

// prepare stages the rows of the input, by parts that are divided by lines of dashes.
func (m *merges) prepare(ctx context.Context, d *datadriven.TestData) (err error) {
	b := sinktest.Batch(m.next, "a", memory.DefaultAllocator)
	b.Schema = m.schema
	if b.Parts, err = m.parts(d.Input); err != nil {
		return err
	}
	m.pending, err = m.sink.Prepare(ctx, b)
	return err
}

func (m *merges) parts(input string) (parts []batch.Part, err error) {
	header, rows, _ := strings.Cut(input, "\n")
	for part := range strings.SplitSeq(rows, "---\n") {
		rec, err := recordOf(m.schema, strings.Fields(header), strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		parts = append(parts, batch.PartFunc(func(context.Context) batch.Stream {
			return func(yield func(batch.Chunk, error) bool) { yield(batch.Chunk{Record: rec}, nil) }
		}))
	}
	return parts, nil
}

// recordOf makes a record of lines of words, - for null and ” for an empty string.
func recordOf(s *arrow.Schema, header []string, lines string) (arrow.RecordBatch, error) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	for line := range strings.SplitSeq(lines, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		for i, f := range s.Fields() {
			at := slices.Index(header, f.Name)
			switch {
			case at < 0 || at >= len(words) || words[at] == "-":
				b.Field(i).AppendNull()
			case words[at] == "''":
				b.Field(i).(*array.StringBuilder).Append("")
			default:
				if err := b.Field(i).AppendValueFromString(words[at]); err != nil {
					return nil, err
				}
			}
		}
	}
	return b.NewRecordBatch(), nil
}

func (m *merges) commit(ctx context.Context) (string, error) {
	r, err := m.sink.Commit(ctx, m.pending)
	if err != nil {
		return "", err
	}
	if r.Outcome != sinks.Committed {
		why := ""
		if r.Why != nil {
			why = ": " + wordsOf(shortError(r.Why))
		}
		return r.Outcome.String() + why + "\n", m.sink.Abort(ctx, m.pending)
	}
	m.next++
	st := m.pending.Staged()
	out := fmt.Sprintf("%d rows, %d dropped; %s\n", st.Rows, st.Dropped, m.metrics(ctx, r.Version))
	rows, err := m.rows(ctx)
	return out + rows, err
}

// wordsOf is a text without the names of files.
func wordsOf(text string) string {
	var words []string
	for w := range strings.FieldsSeq(text) {
		if strings.Contains(w, ".parquet") {
			w = "<file>" + w[strings.LastIndex(w, ".parquet")+len(".parquet"):]
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

func (m *merges) metrics(ctx context.Context, version int64) string {
	actions, _, err := m.sink.Table().Log().Read(ctx, version)
	if err != nil {
		return err.Error()
	}
	var added, removed int
	for _, a := range actions {
		if a.Add != nil {
			added++
		}
		if a.Remove != nil {
			removed++
		}
	}
	info := actions[0].CommitInfo
	out := fmt.Sprintf("%s +%d -%d files", info.Operation, added, removed)
	for _, what := range []string{"Inserted", "Updated", "Deleted", "Copied"} {
		if n := info.OperationMetrics["numTargetRows"+what]; n != "" && n != "0" {
			out += ", " + n + " " + strings.ToLower(what)
		}
	}
	return out
}

// foreign appends rows, as another writer does, in the columns of the batches without the operation.
func (m *merges) foreign(ctx context.Context, d *datadriven.TestData) error {
	other, err := New(Config{Store: m.place.store, Format: m.place.format, PartitionBy: m.place.by, AppSuffix: "/other"})
	if err != nil {
		return err
	}
	if d.HasArg("delete") {
		return m.foreignDelete(ctx)
	}
	rows := merge.Without(m.schema, m.sink.cfg.Merge.OperationColumn)
	if err := other.Check(ctx, rows); err != nil {
		return err
	}
	q := sinktest.Query("other", 1)
	v, err := other.Visible(ctx, q)
	if err != nil {
		return err
	}
	if err := other.Recover(ctx, q, nil); err != nil {
		return err
	}
	b := sinktest.Batch(v.Batch+1, "a", memory.DefaultAllocator)
	b.Schema = rows
	header, lines, _ := strings.Cut(d.Input, "\n")
	rec, err := recordOf(rows, strings.Fields(header), strings.TrimSpace(lines))
	if err != nil {
		return err
	}
	b.Parts = []batch.Part{batch.PartFunc(func(context.Context) batch.Stream {
		return func(yield func(batch.Chunk, error) bool) { yield(batch.Chunk{Record: rec}, nil) }
	})}
	p, err := other.Prepare(ctx, b)
	if err != nil {
		return err
	}
	_, err = other.Commit(ctx, p)
	return err
}

// foreignDelete takes all files out of the table.
func (m *merges) foreignDelete(ctx context.Context) error {
	tbl, err := table.Open(ctx, m.place.store, table.Options{})
	if err != nil {
		return err
	}
	files, err := tbl.Snapshot().Files(ctx)
	if err != nil {
		return err
	}
	c := translog.Change{Info: action.CommitInfo{Operation: "DELETE"}}
	for _, a := range files {
		c.Actions = append(c.Actions, action.Action{Remove: a.Tombstone(0, true)})
	}
	_, err = tbl.Log().Commit(ctx, tbl.Snapshot().State(), c)
	return err
}

// rows are the table's, sorted, with the names of the columns first.
func (m *merges) rows(ctx context.Context) (string, error) {
	tbl, err := table.Open(ctx, m.place.store, table.Options{})
	if err != nil {
		return "", err
	}
	var names, lines []string
	for _, f := range tbl.Snapshot().Schema().Fields() {
		names = append(names, f.Name)
	}
	for rec, err := range tbl.Snapshot().Read(ctx, nil, memory.DefaultAllocator) {
		if err != nil {
			return "", err
		}
		for row := range int(rec.NumRows()) {
			lines = append(lines, "  "+rowText(rec, row))
		}
	}
	slices.Sort(lines)
	return strings.Join(append([]string{"  " + strings.Join(names, " ")}, lines...), "\n") + "\n", nil
}

func rowText(rec arrow.RecordBatch, row int) string {
	var words []string
	for _, c := range rec.Columns() {
		word := "-"
		if c.IsValid(row) {
			word = or(c.ValueStr(row), "''")
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// files are the table's, each with its partition and how many rows it has.
func (m *merges) files(ctx context.Context) (string, error) {
	tbl, err := table.Open(ctx, m.place.store, table.Options{})
	if err != nil {
		return "", err
	}
	files, err := tbl.Snapshot().Files(ctx)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, a := range files {
		lines = append(lines, fmt.Sprintf("  %s%d rows", strings.ReplaceAll(directoryOf(a.Path), "/", " "), a.Rows()))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n", nil
}
