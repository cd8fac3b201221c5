package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"microbatch/engine"
	"microbatch/internal/duck"
	"microbatch/internal/errcode"
	"microbatch/objstore/localfs"
)

// demo is a run of the demonstration.
type demo struct {
	std  IO
	dir  string
	rows int64
}

// The demonstration's numbers: enough rows that a batch takes long enough to be killed in its middle.
const (
	demoRows    = 1_000_000
	demoBatches = 5
	demoSeed    = 1
	demoKill    = 2 // the batch that is killed
)

func demoCommand(std IO) *cobra.Command {
	d := demo{std: std}
	keep := false
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show exactly-once on this machine: run, kill -9 in the middle of a batch, run again, count",
		Long: `Show exactly-once on this machine, without any server. A million generated order events go into a Parquet table in five batches. In the middle of
the third batch the process is killed with SIGKILL, and then started again. At the end DuckDB counts what is in the table.`,
		Example: "  microbatch demo\n  microbatch demo --keep --dir /tmp/demo",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if d.rows < demoBatches {
				return errcode.Usage.New("", "--rows %d: want at least %d", d.rows, demoBatches)
			}
			if err := duck.Available(); err != nil {
				return err
			}
			remove, err := d.makeDir()
			if err != nil {
				return err
			}
			if !keep {
				defer func() {
					if rerr := remove(); err == nil {
						err = rerr
					}
				}()
			}
			if err := d.run(cmd.Context()); err != nil {
				return err
			}
			if keep {
				d.say("\nThe table is kept: microbatch query \"SELECT country, count(*) FROM '%s' GROUP BY ALL\"", d.path("orders"))
			}
			return nil
		},
	}
	c.Flags().StringVar(&d.dir, "dir", "", "work in this new `folder`; left out: a temporary one")
	c.Flags().BoolVar(&keep, "keep", false, "keep the folder")
	c.Flags().Int64Var(&d.rows, "rows", demoRows, "how many `events` are generated")
	return c
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.std.Out, format+"\n", args...) }

func (d *demo) path(name string) string { return filepath.Join(d.dir, name) }

// makeDir makes the folder, which must be new, and gives what removes it.
func (d *demo) makeDir() (remove func() error, err error) {
	if d.dir == "" {
		d.dir, err = os.MkdirTemp("", "microbatch-demo-")
	} else {
		if err := os.MkdirAll(filepath.Dir(d.dir), 0o755); err != nil {
			return nil, err
		}
		if err = os.Mkdir(d.dir, 0o755); os.IsExist(err) {
			return nil, errcode.FileExists.New(d.dir, "the folder of the demo must be new")
		}
	}
	return func() error { return os.RemoveAll(d.dir) }, err
}

func (d *demo) run(ctx context.Context) error {
	began := time.Now()
	d.say("%s order events into a Parquet table, exactly once, in %s", thousands(d.rows), d.dir)
	perBatch := (d.rows + demoBatches - 1) / demoBatches
	text := fmt.Sprintf("name: demo\nsource:\n  orders: {rows_per_second: 0, rows: %d, seed: %d}\nsink:\n  table: {path: orders}\ncheckpoint: checkpoint\ntrigger: {max_rows: %d}\n", d.rows, demoSeed, perBatch)
	if err := writeNew(d.path("demo.yaml"), text); err != nil {
		return err
	}
	d.say("\n1. Start. Each batch is written down before it runs, and becomes visible in one step.")
	if err := d.killed(ctx); err != nil {
		return err
	}
	d.say("\n3. Start again.")
	if err := d.finish(ctx); err != nil {
		return err
	}
	d.say("\n4. What DuckDB finds in %s:", d.path("orders/**/*.parquet"))
	if err := d.check(ctx); err != nil {
		return err
	}
	d.say("\nEvery event is in the table exactly once, although the process was killed while it wrote. (%.1f s)", time.Since(began).Seconds())
	return nil
}

// killed starts the pipeline and kills it in the middle of a batch. Should the batch be done before the signal lands, the next one is tried.
func (d *demo) killed(ctx context.Context) error {
	for id := demoKill; id < demoBatches; {
		child, err := d.start(ctx)
		if err != nil {
			return err
		}
		if err := child.killIn(ctx, d, id); err != nil {
			return err
		}
		in, err := d.inspect(ctx)
		if err != nil {
			return err
		}
		if in.Pending != nil {
			n := strconv.FormatInt(int64(*in.Pending), 10)
			d.say("\n2. kill -9 in the middle of batch %s: checkpoint/offsets/%s says what the batch holds; checkpoint/commits/%s, that it is done, is missing.", n, n, n)
			return nil
		}
		id = int(in.Commits.Last) + 1
	}
	d.say("\n2. This machine was faster than the kill: no batch was hit in its middle.")
	return nil
}

func (d *demo) inspect(ctx context.Context) (engine.Inspection, error) {
	store, err := localfs.New(d.path("checkpoint"), localfs.Options{})
	if err != nil {
		return engine.Inspection{}, err
	}
	return engine.Inspect(ctx, store)
}

// finish runs the pipeline to its end.
func (d *demo) finish(ctx context.Context) error {
	child, err := d.start(ctx)
	if err != nil {
		return err
	}
	return child.wait(d)
}

// thousands writes a number with separators.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
