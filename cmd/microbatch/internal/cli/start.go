package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"microbatch/cmd/microbatch/internal/report"
	"microbatch/cmd/microbatch/internal/status"
	"microbatch/engine"
	"microbatch/internal/errcode"
	"microbatch/pipeline"
	"microbatch/pipeline/config"
	"microbatch/schema"
)

// startFlags are the flags of start.
type startFlags struct {
	pipelineFlags
	trigger        string
	once           bool
	dryRun         int
	progress       string
	listen         string
	insecureListen bool
	shutdown       time.Duration
	acceptChange   bool
	newQuery       bool
}

func startCommand(std IO) *cobra.Command {
	var f startFlags
	c := &cobra.Command{
		Use:   "start [pipeline.yaml]",
		Short: "Run a pipeline",
		Long: `Run a pipeline until it is stopped, or with --once until it has caught up.

The first start creates checkpoint and table; each later one goes on where the last one stopped, however it ended.
SIGTERM or Ctrl-C: the running batch is finished within --shutdown-timeout, or else abandoned before its commit; both are exit code 0.
A second signal ends the program at once, which is as safe as a crash.`,
		Example: `  microbatch start                                    # microbatch.yaml in the current folder
  microbatch start orders.yaml --once                 # all that is available now, then stop
  microbatch start orders.yaml --trigger 30s --listen 127.0.0.1:8080
  microbatch start orders.yaml --dry-run=20           # show 20 rows, write nothing
  microbatch start orders.yaml --set trigger.max_rows=50000 --progress json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := f.load(args)
			if err != nil {
				return err
			}
			if err := f.apply(c); err != nil {
				return err
			}
			if f.dryRun > 0 {
				return dryRun(cmd.Context(), std, c, int64(f.dryRun))
			}
			return f.start(cmd.Context(), std, c)
		},
	}
	f.add(c)
	fl := c.Flags()
	fl.StringVar(&f.trigger, "trigger", "", "when batches begin: `30s`, 0s (back to back) or once; overrides the file")
	fl.BoolVar(&f.once, "once", false, "take all that is available now, then stop: the same as --trigger once")
	fl.IntVar(&f.dryRun, "dry-run", 0, "show `n` rows of the next batch and write nothing")
	fl.Lookup("dry-run").NoOptDefVal = "10"
	fl.StringVar(&f.progress, "progress", "", "what is shown: line (one live line), log (a line a batch), json (on standard output) or none;\nleft out: line on a terminal, log elsewhere")
	fl.StringVar(&f.listen, "listen", "", "serve /status, /metrics and /healthz on this `address`, as 127.0.0.1:8080")
	fl.BoolVar(&f.insecureListen, "insecure-listen", false, "let --listen use an address that others can reach; there is no login")
	fl.DurationVar(&f.shutdown, "shutdown-timeout", 25*time.Second, "how long the running batch may go on after SIGTERM")
	fl.BoolVar(&f.acceptChange, "accept-change", false, "finish a pending batch although the pipeline has changed since it was planned")
	fl.BoolVar(&f.newQuery, "new-query", false, "begin anew on a table that this pipeline has filled under another checkpoint; rows may come twice")
	c.MarkFlagsMutuallyExclusive("trigger", "once")
	return c
}

// apply puts the trigger of the command line over that of the file.
func (f *startFlags) apply(c *pipeline.Config) error {
	switch f.progress {
	case "", "line", "log", "json", "none":
	default:
		return errcode.Usage.New("", "--progress %q: want line, log, json or none", f.progress)
	}
	if f.shutdown <= 0 {
		return errcode.Usage.New("", "--shutdown-timeout %s: want a positive duration", f.shutdown)
	}
	switch {
	case f.once || f.trigger == "once":
		c.Trigger.Once, c.Trigger.Every = true, nil
	case f.trigger != "":
		every, err := config.ParseDuration(f.trigger)
		if err != nil {
			return errcode.Usage.New("", "--trigger %q: want a duration such as 30s, 0s or once", f.trigger)
		}
		c.Trigger.Once, c.Trigger.Every = false, &every
	}
	return nil
}

func (f *startFlags) start(ctx context.Context, std IO, c *pipeline.Config) error {
	ctx, stop := untilSignal(ctx, std.Err, fmt.Sprintf("stopping: the running batch may take up to %s; a second signal ends at once", f.shutdown))
	defer stop()
	show, log := f.reporter(std, c)
	q, err := pipeline.Build(ctx, c, pipeline.Options{Log: log, Console: std.Out, Programs: std.Err})
	if err != nil {
		return err
	}
	if err := pipeline.Probe(ctx, c); err != nil {
		if ctx.Err() != nil { // stopped while the store was asked: nothing had begun
			return nil
		}
		return err
	}
	q.ShutdownTimeout, q.AcceptChange, q.NewQuery = f.shutdown, f.acceptChange, f.newQuery
	q.Listener = show.Tee(remarks(c, q, log))
	if f.listen != "" {
		server, err := status.Listen(ctx, f.listen, c.Name, f.insecureListen)
		if err != nil {
			return err
		}
		fmt.Fprintf(std.Err, "status on http://%s/status\n", server.Address())
		q.Listener = q.Listener.Tee(server.Listener())
		served := make(chan error, 1)
		go func() { served <- server.Serve() }()
		defer func() {
			if err := server.Close(); err != nil {
				log.Warn("status server: " + err.Error())
			}
			if err := <-served; err != nil {
				log.Warn("status server: " + err.Error())
			}
		}()
	}
	return q.Run(ctx)
}

// remarks says at the start what a user should know and the file does not say: an inferred schema, and a place to begin that is not used because the query goes on
// where its checkpoint ends.
func remarks(c *pipeline.Config, q engine.Query, log *slog.Logger) engine.Listener {
	return engine.Listener{Started: func(s engine.Started) {
		if c.CanReject() && c.Source.Schema == "" {
			log.Info("schema inferred from a sample and pinned in the checkpoint", "schema", schema.FormatDDL(q.Sources[0].Schema()))
		}
		if k := c.Source.Kafka; k != nil && k.Start.Word != "earliest" && !s.Fresh {
			log.Info("source.kafka.start is not used: the query goes on where its checkpoint ends", "place", c.Place("source.kafka.start"))
		}
	}}
}

// reporter is what shows the progress, and the logger beside it.
func (f *startFlags) reporter(std IO, c *pipeline.Config) (engine.Listener, *slog.Logger) {
	log := slog.New(slog.NewTextHandler(std.Err, nil)).With("pipeline", c.Name)
	terminal, onTerminal := isTerminal(std.Err)
	switch kind := f.progress; {
	case kind == "json":
		return report.JSON(std.Out), log
	case kind == "none":
		return engine.Listener{}, log
	case kind == "log" || kind == "" && !onTerminal:
		return report.Log(log), log
	}
	width := func() int {
		if !onTerminal {
			return 0
		}
		w, _, err := term.GetSize(int(terminal.Fd()))
		if err != nil {
			return 80
		}
		return w
	}
	line := &report.Line{Out: std.Err, Width: width, Now: time.Now, Once: c.Trigger.Once}
	return line.Listener(), line.Log()
}

// summary says what a pipeline does in a line.
func summary(c *pipeline.Config) string {
	var steps []string
	for _, s := range c.Transform {
		switch {
		case len(s.Select) > 0:
			steps = append(steps, "select")
		case s.Filter != "":
			steps = append(steps, "filter")
		default:
			steps = append(steps, "sql")
		}
	}
	return strings.Join(append(append([]string{sourceName(c)}, steps...), sinkName(c)), " -> ")
}

func sourceName(c *pipeline.Config) string {
	switch s := c.Source; {
	case s.Kafka != nil && s.Kafka.Pattern != "":
		return as("kafka topics "+s.Kafka.Pattern, s.FormatOrDefault())
	case s.Kafka != nil:
		return as("kafka "+strings.Join(s.Kafka.Topics, ", "), s.FormatOrDefault())
	case s.Files != nil:
		return "files " + s.Files.Path
	case s.Rate != nil:
		return "rate"
	}
	return "orders"
}

// as adds a format to a name, unless it is the usual one.
func as(name, format string) string {
	if format == "json" {
		return name
	}
	return name + " as " + format
}

func sinkName(c *pipeline.Config) string {
	switch s := c.Sink; {
	case s.Kafka != nil:
		return as("kafka "+s.Kafka.Topic, s.Kafka.Format)
	case s.Table != nil:
		return s.Table.Format + " table " + s.Table.Path
	case s.Files != nil:
		return s.Files.Format + " files " + s.Files.Path
	case s.Postgres != nil:
		return "PostgreSQL table " + s.Postgres.Table
	case s.HTTP != nil:
		return "http " + s.HTTP.URL
	case s.ForeachBatch != nil:
		if s.ForeachBatch.DuckDB != "" {
			return "foreachbatch in " + s.ForeachBatch.DuckDB
		}
		if s.ForeachBatch.Postgres != nil {
			return "foreachbatch in PostgreSQL"
		}
		return "foreachbatch " + s.ForeachBatch.Command[0]
	}
	return c.Sink.Kind()
}
