package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"microbatch/cmd/microbatch/internal/rows"
	"microbatch/internal/errcode"
	"microbatch/pipeline"
	"microbatch/table"
)

func rejectedCommand(std IO) *cobra.Command {
	c := &cobra.Command{Use: "rejected", Short: "Look at rows that did not decode"}
	c.AddCommand(rejectedShow(std))
	return c
}

func rejectedShow(std IO) *cobra.Command {
	var f storeFlags
	var format string
	var limit int64
	c := &cobra.Command{
		Use:   "show [path | pipeline.yaml]",
		Short: "Show rejected rows: position, reason and the row as it came",
		Example: `  microbatch rejected show orders.yaml
  microbatch rejected show out/events_rejected --limit 0 --format json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			store, path, err := f.place(cmd.Context(), args, func(c *pipeline.Config) (string, error) {
				if c.Rejected == nil {
					return "", errcode.Usage.New(c.File(), "the pipeline keeps no rejected rows (on_error: %s)", c.OnError)
				}
				return c.Rejected.Table, nil
			})
			if err != nil {
				return err
			}
			t, err := table.Open(cmd.Context(), store, table.Options{})
			if errors.Is(err, fs.ErrNotExist) {
				fmt.Fprintf(std.Err, "no row was rejected yet: there is no table at %s\n", path)
				return nil
			}
			if err != nil {
				return err
			}
			n, err := showRejected(cmd, std, t, format, limit)
			if err == nil {
				fmt.Fprintf(std.Err, "%d rejected rows\n", n)
			}
			return err
		},
	}
	f.add(c)
	addFormat(c.Flags(), &format)
	c.Flags().Int64Var(&limit, "limit", 20, "how many `rows`; 0: all")
	return c
}

// addFormat adds --format, and --json as every other command that scripts read has it.
func addFormat(flags *pflag.FlagSet, format *string) {
	flags.StringVar(format, "format", "table", "table, json or csv")
	flags.BoolFunc("json", "the same as --format json", func(string) error { *format = "json"; return nil })
}

func checkFormat(format string) error {
	for _, f := range rows.Formats() {
		if f == format {
			return nil
		}
	}
	return errcode.Usage.New("", "--format %q: want table, json or csv", format)
}

func showRejected(cmd *cobra.Command, std IO, t *table.Table, format string, limit int64) (shown int64, err error) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "batch_id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "position", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "reason", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "raw", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	printer := rows.New(std.Out, format, schema)
	for record, err := range t.Snapshot().Read(cmd.Context(), []string{"batch_id", "position", "reason", "raw"}, memory.DefaultAllocator) {
		if err != nil {
			return shown, err
		}
		n := record.NumRows()
		if limit > 0 {
			n = min(n, limit-shown)
		}
		shown += n
		err = printRejected(printer, schema, record, n)
		record.Release()
		if err != nil {
			return shown, err
		}
		if limit > 0 && shown >= limit {
			break
		}
	}
	return shown, printer.Close()
}

// printRejected prints n rows with the raw bytes as text.
func printRejected(printer rows.Printer, schema *arrow.Schema, record arrow.RecordBatch, n int64) error {
	raw, ok := record.Column(3).(*array.Binary)
	if !ok {
		return errcode.NoTable.New("", "the table is not one of rejected rows: its column raw is %s", record.Column(3).DataType())
	}
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	for i := range raw.Len() {
		if raw.IsNull(i) {
			b.AppendNull()
			continue
		}
		b.Append(string(raw.Value(i)))
	}
	text := b.NewArray()
	defer text.Release()
	whole := array.NewRecordBatch(schema, []arrow.Array{record.Column(0), record.Column(1), record.Column(2), text}, record.NumRows())
	defer whole.Release()
	part := whole.NewSlice(0, n)
	defer part.Release()
	return printer.Print(part)
}
