package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"microbatch/cmd/microbatch/internal/rows"
	"microbatch/internal/errcode"
	"microbatch/pipeline"
	"microbatch/pipeline/config"
	"microbatch/query"
	"microbatch/table/translog"
)

// queryFlags are the flags of query.
type queryFlags struct {
	storeFlags
	version int64
	asOf    string
	tables  []string
	format  string
	quiet   bool
}

func queryCommand(std IO) *cobra.Command {
	var f queryFlags
	c := &cobra.Command{
		Use:   `query "SQL"`,
		Short: "Read tables with SQL",
		Long: `Read tables with SQL (DuckDB). FROM 'path' names a table by its folder or s3:// prefix; with a pipeline file (--pipeline, or microbatch.yaml in the current
folder) its tables can also be named by the pipeline's name and <name>_rejected. A table is read at one version, exactly the files that its log names: right at any
moment, beside writers. What is read, and by whom, is said on standard error. "-" reads the SQL from standard input.`,
		Example: `  microbatch query "SELECT count(*) FROM 'out/events'"
  microbatch query "SELECT day, sum(amount) FROM 's3://lake/orders' GROUP BY ALL ORDER BY day" --pipeline orders.yaml
  microbatch query "SELECT * FROM 'out/events'" --version 3 --format json
  microbatch query "SELECT * FROM events LIMIT 10"     # the table of ./microbatch.yaml named events`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), std, args[0]) },
	}
	f.add(c)
	fl := c.Flags()
	fl.StringArrayVar(&f.tables, "table", nil, "name a table: `name=path` (repeatable)")
	fl.Int64Var(&f.version, "version", -1, "read tables at this `version`; left out: the newest")
	fl.StringVar(&f.asOf, "as-of", "", "read tables as they were at this `time`, as 2026-01-31T12:00:00Z")
	addFormat(fl, &f.format)
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "do not say how the tables are read")
	c.MarkFlagsMutuallyExclusive("version", "as-of")
	return c
}

func (f *queryFlags) run(ctx context.Context, std IO, sql string) (err error) {
	if err := checkFormat(f.format); err != nil {
		return err
	}
	if sql == "-" {
		text, err := io.ReadAll(std.In)
		if err != nil {
			return fmt.Errorf("read the SQL: %w", err)
		}
		sql = string(text)
	}
	find, err := f.finder(std)
	if err != nil {
		return err
	}
	s, err := query.Open(ctx, query.Options{TempDir: os.TempDir(), Resolve: find.resolve})
	if err != nil {
		return err
	}
	defer func() {
		if cerr := s.Close(); err == nil {
			err = cerr
		}
	}()
	r, err := s.Query(ctx, sql)
	if err != nil {
		return err
	}
	defer r.Close()
	if !f.quiet {
		for _, reading := range s.Readings() {
			fmt.Fprintln(std.Err, reading)
		}
	}
	return print(std.Out, f.format, r)
}

func print(out io.Writer, format string, r *query.Result) error {
	printer := rows.New(out, format, r.Schema())
	for {
		record, err := r.Next()
		if err != nil {
			return err
		}
		if record == nil {
			return printer.Close()
		}
		err = printer.Print(record)
		record.Release()
		if err != nil {
			return err
		}
	}
}

// finder finds the tables that SQL names.
type finder struct {
	stores  *pipeline.Stores
	named   map[string]string // paths by the names of a pipeline file
	version *int64
	asOf    *time.Time
}

func (f *queryFlags) finder(std IO) (*finder, error) {
	d := &finder{named: map[string]string{}}
	if f.version >= 0 {
		d.version = &f.version
	}
	if f.asOf != "" {
		at, err := config.ParseTime(f.asOf)
		if err != nil {
			return nil, errcode.Usage.New("", "--as-of %q: want a time such as 2026-01-31T12:00:00Z", f.asOf)
		}
		d.asOf = &at.Time
	}
	if _, err := os.Stat(defaultFile); err == nil && f.pipeline == "" {
		c, err := pipeline.Load(defaultFile)
		if err != nil { // it may have nothing to do with this query
			fmt.Fprintf(std.Err, "%s is not used: %v\n", defaultFile, err)
		} else {
			d.take(c)
		}
	}
	for _, t := range f.tables {
		name, path, ok := strings.Cut(t, "=")
		if !ok || name == "" || path == "" {
			return nil, errcode.Usage.New("", "--table %q: want name=path", t)
		}
		d.named[strings.ToLower(name)] = path
	}
	stores, c, err := f.stores()
	if err != nil {
		return nil, err
	}
	if c != nil {
		d.take(c)
	}
	if d.stores == nil {
		d.stores = stores
	}
	return d, nil
}

// take takes the settings and the tables of a pipeline file.
func (d *finder) take(c *pipeline.Config) {
	d.stores = pipeline.NewStores(c)
	if c.Sink.Table != nil {
		d.named[strings.ToLower(c.Name)] = c.Sink.Table.Path
	}
	if c.Rejected != nil {
		d.named[strings.ToLower(c.Name)+"_rejected"] = c.Rejected.Table
	}
}

// resolve is query.Options.Resolve.
func (d *finder) resolve(ctx context.Context, name string) (query.Table, bool, error) {
	path, named := d.named[strings.ToLower(name)]
	if !named {
		path = name
	}
	t, err := d.stores.QueryTable(ctx, path)
	if err != nil {
		return query.Table{}, false, err
	}
	t.Version, t.AsOf = d.version, d.asOf
	if _, err := translog.Detect(ctx, t.Store); errors.Is(err, fs.ErrNotExist) {
		if named || strings.ContainsAny(name, "/") {
			return query.Table{}, false, errcode.NoTable.New(path, "there is no table; a table has a folder _metadata (format parquet) or _delta_log (format delta)")
		}
		return query.Table{}, false, nil // perhaps a name that DuckDB knows
	} else if err != nil {
		return query.Table{}, false, err
	}
	return t, true, nil
}
