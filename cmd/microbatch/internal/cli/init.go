package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"microbatch/internal/errcode"
	"microbatch/pipeline"
	"microbatch/pipeline/config"
	"microbatch/schema"
)

// initFlags are the flags of init.
type initFlags struct {
	from    string
	brokers []string
	topic   string
	name    string
	out     string
	table   string
	format  string
}

func initCommand(std IO) *cobra.Command {
	var f initFlags
	c := &cobra.Command{
		Use:   "init",
		Short: "Write a first pipeline file",
		Long: `Write a first pipeline file: for your own files (--from) or topic (--brokers, --topic), with the schema inferred from a sample; without any of them,
for the built-in source of order events. An existing file is not overwritten.`,
		Example: `  microbatch init --from events.ndjson
  microbatch init --from 'in/*.csv' --table lake/events --format delta
  microbatch init --brokers localhost:9092 --topic orders
  microbatch init && microbatch start --once`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), std) },
	}
	fl := c.Flags()
	fl.StringVar(&f.from, "from", "", "a sample `file`, a folder or a glob (NDJSON, CSV, Parquet; also .gz and .zst)")
	fl.StringSliceVar(&f.brokers, "brokers", nil, "Kafka servers, `host:port`")
	fl.StringVar(&f.topic, "topic", "", "the Kafka `topic`")
	fl.StringVar(&f.name, "name", "", "the pipeline's name; left out: from the file or topic")
	fl.StringVar(&f.table, "table", "", "the `path` of the table; left out: out/<name>")
	fl.StringVar(&f.format, "format", "parquet", "the table's format: parquet or delta")
	fl.StringVarP(&f.out, "output", "o", defaultFile, "the `file` to write")
	c.MarkFlagsMutuallyExclusive("from", "brokers")
	c.MarkFlagsRequiredTogether("brokers", "topic")
	return c
}

func (f *initFlags) run(ctx context.Context, std IO) error {
	if _, err := os.Lstat(f.out); err == nil {
		return errcode.FileExists.New(f.out, "it would be overwritten")
	}
	source, err := f.source()
	if err != nil {
		return err
	}
	draft := f.text(source, nil)
	c, err := config.Parse(f.out, []byte(draft), nil)
	if err != nil {
		return err
	}
	columns := 0
	if f.from != "" || f.topic != "" {
		s, err := pipeline.Infer(ctx, c)
		if e, ok := errors.AsType[*errcode.Error](err); ok && errcode.Has(e, errcode.NoSample) { // there is no pipeline file yet to declare a schema in
			e.Advise("Name a file, folder or glob that is there by --from.")
		}
		if err != nil {
			return err
		}
		draft, columns = f.text(source, s), s.NumFields()
	}
	if err := writeNew(f.out, draft); err != nil {
		return err
	}
	fmt.Fprintf(std.Out, "wrote %s", f.out)
	if columns > 0 {
		fmt.Fprintf(std.Out, " with %d columns inferred from a sample; look them over", columns)
	}
	file := " " + f.out
	if f.out == defaultFile {
		file = ""
	}
	fmt.Fprintf(std.Out, "\nnext:\n  microbatch start%s --dry-run     # show some rows, write nothing\n  microbatch start%s --once        # run it\n  microbatch query \"SELECT * FROM '%s' LIMIT 10\"\n", file, file, tablePath(c))
	return nil
}

func tablePath(c *pipeline.Config) string {
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, c.Sink.Table.Path); err == nil && !strings.HasPrefix(c.Sink.Table.Path, "s3://") {
			return rel
		}
	}
	return c.Sink.Table.Path
}

var unfit = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// source is the text of the source, without its schema; it also settles the name.
func (f *initFlags) source() (string, error) {
	var text, name string
	switch {
	case f.from != "":
		path := f.from
		if dir := filepath.Dir(f.out); !strings.Contains(path, "://") && !filepath.IsAbs(path) { // in the file, paths are relative to the file
			wd, err := filepath.Abs(path)
			if err != nil {
				return "", err
			}
			base, err := filepath.Abs(dir)
			if err != nil {
				return "", err
			}
			if path, err = filepath.Rel(base, wd); err != nil {
				return "", err
			}
		}
		name = firstWord(filepath.Base(f.from), filepath.Base(filepath.Dir(f.from)))
		text = "  files: {path: " + strconv.Quote(path) + "}   # a folder or a glob such as in/*.ndjson will do too; each file is read once\n"
	case f.topic != "":
		name = firstWord(f.topic)
		var quoted []string
		for _, b := range f.brokers {
			quoted = append(quoted, strconv.Quote(b))
		}
		text = "  kafka:\n    brokers: [" + strings.Join(quoted, ", ") + "]\n    topics: [" + strconv.Quote(f.topic) + "]\n    start: earliest\n"
	default:
		name = "orders"
		text = "  orders: {rows_per_second: 1000, rows: 100000}   # generated; replace it by kafka: or files:, see docs/pipeline.md\n"
	}
	if f.name == "" {
		f.name = name
	}
	if f.table == "" {
		f.table = "out/" + f.name
	}
	return text, nil
}

// firstWord is the first of the names that leaves something when endings and unfit characters are gone.
func firstWord(names ...string) string {
	for _, n := range names {
		n, _, _ = strings.Cut(n, ".")
		if n = strings.Trim(unfit.ReplaceAllString(n, "_"), "_"); n != "" {
			return n
		}
	}
	return "events"
}

func (f *initFlags) text(source string, s *arrow.Schema) string {
	var b strings.Builder
	b.WriteString("# A microbatch pipeline. Check it with `microbatch validate`, run it with `microbatch start`.\n")
	fmt.Fprintf(&b, "name: %s\nsource:\n%s", strconv.Quote(f.name), source)
	if s != nil {
		b.WriteString("  schema: |   # inferred from a sample; rows that do not fit go to the table of rejected rows\n")
		for i, field := range s.Fields() {
			end := ",\n"
			if i == s.NumFields()-1 {
				end = "\n"
			}
			b.WriteString("    " + schema.FormatDDL(arrow.NewSchema([]arrow.Field{field}, nil)) + end)
		}
	}
	b.WriteString("# transform:\n#   - filter: amount > 0\n#   - sql: SELECT *, now() AS loaded_at FROM batch\n")
	fmt.Fprintf(&b, "sink:\n  table: {path: %s, format: %s}\n", strconv.Quote(f.table), f.format)
	b.WriteString("trigger: {every: 10s, max_rows: 1000000}\n")
	return b.String()
}

// writeNew writes a file that does not exist yet.
func writeNew(name, text string) error {
	w, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return errcode.FileExists.Wrap(err, name, "it cannot be written")
	}
	_, err = w.WriteString(text)
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	return err
}
