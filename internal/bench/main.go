package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"microbatch/internal/bench/report"
)

// bench is what all workloads share.
type bench struct {
	binary   string // the program under test
	self     string // this program
	dir      string // for data
	env      []string
	rows     int // of the large inputs
	rounds   int
	quick    bool // small sizes: to try the benchmark itself
	services servers
}

func main() {
	if len(os.Args) > 1 {
		if run, ok := hidden()[os.Args[1]]; ok {
			exit(run(context.Background(), os.Args[2:]))
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	exit(err)
}

// hidden are the commands by which this program is a peer's process.
func hidden() map[string]func(context.Context, []string) error {
	return map[string]func(context.Context, []string) error{
		duckdbCommand: duckdbMain, bareKafkaCommand: bareKafkaMain, openLogCommand: openLogMain, bareProduceCommand: bareProduceMain,
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// options are the flags that say what to run.
type options struct {
	only  *regexp.Regexp
	all   bool // only was not given
	peers bool
	out   string
}

func flags(b *bench) (options, error) {
	var o options
	var only string
	flag.StringVar(&b.binary, "binary", "bin/microbatch", "the program to measure")
	flag.StringVar(&b.dir, "dir", "bench/data", "folder for input and output; on the disk to measure")
	flag.StringVar(&o.out, "out", "", "folder of bench/results.json and docs/benchmarks.md; the current one, with --quick the data folder")
	flag.StringVar(&only, "only", "", "measure the workloads whose name, or one of whose rows, matches this regular expression")
	flag.BoolVar(&o.peers, "peers", false, "measure against Spark, instead of what needs no JVM as a peer")
	flag.IntVar(&b.rows, "rows", 0, "rows of the large inputs; 2,000,000, with --quick 20,000")
	flag.IntVar(&b.rounds, "rounds", 0, "rounds that take turns; 5, against Spark 3")
	flag.BoolVar(&b.quick, "quick", false, "small sizes, to try the benchmark itself: the figures mean nothing")
	flag.Parse()
	var err error
	if o.only, err = regexp.Compile("(?i)" + only); err != nil {
		return o, fmt.Errorf("--only: %w", err)
	}
	o.all = only == ""
	if b.rounds == 0 {
		b.rounds = pick2(o.peers, 3, 5)
	}
	if b.rows == 0 {
		b.rows = b.size(2_000_000, 20_000)
	}
	return o, b.prepare(&o)
}

func pick2(first bool, a, b int) int {
	if first {
		return a
	}
	return b
}

// size is a number of things: full, or to try the benchmark.
func (b *bench) size(full, quick int) int { return pick2(b.quick, quick, full) }

// prepare makes the paths absolute: the processes of the workloads run in folders of their own.
func (b *bench) prepare(o *options) error {
	var err error
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.quick {
		b.dir = filepath.Join(b.dir, "quick")
	}
	if o.out == "" {
		o.out = "."
		if b.quick {
			o.out = b.dir
		}
	}
	for _, p := range []*string{&b.binary, &b.dir} {
		if *p, err = filepath.Abs(*p); err != nil {
			return err
		}
	}
	if _, err := os.Stat(b.binary); err != nil {
		return fmt.Errorf("%w (make build makes it)", err)
	}
	return os.MkdirAll(b.dir, 0o755)
}

func run(ctx context.Context) error {
	b := &bench{}
	o, err := flags(b)
	if err != nil {
		return err
	}
	this := report.Run{Commit: commit(), Date: time.Now().UTC().Format(time.DateOnly), Machine: machine()}
	progress, err := resume(filepath.Join(b.dir, fmt.Sprintf("unfinished-peers=%v.json", o.peers)), fmt.Sprintf("%s, %d rows, %d rounds", this.Commit, b.rows, b.rounds))
	if err != nil {
		return err
	}
	defer b.services.stop()
	var failed []error
	for _, w := range workloads() {
		if w.peers != o.peers || !w.matches(o.only) {
			continue
		}
		if o.all && progress.has(w) {
			b.say("%s: measured before the run was interrupted", w.Name)
			continue
		}
		results, err := b.measure(ctx, w, this)
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted; the next run of this code goes on behind what was measured")
		}
		if err != nil {
			b.say("%s: %v", w.Name, err)
			failed = append(failed, fmt.Errorf("%s: %w", w.Name, err))
			continue
		}
		if err := progress.add(results); err != nil {
			return err
		}
		if err := publish(o.out, results); err != nil {
			return err
		}
	}
	return finish(o, progress, this, failed)
}

// measure runs a workload.
func (b *bench) measure(ctx context.Context, w workload, this report.Run) ([]report.Result, error) {
	b.say("%s ...", w.Name)
	begin := time.Now()
	samples, err := w.measure(ctx, b)
	if err != nil {
		return nil, err
	}
	if len(samples) != len(w.Rows) {
		return nil, fmt.Errorf("%d rows were measured, the table has %d", len(samples), len(w.Rows))
	}
	results := make([]report.Result, len(samples))
	for i, s := range samples {
		results[i] = w.Rows[i].Result(w.Name, s, this)
	}
	b.say("%s: %.0f s\n%s", w.Name, time.Since(begin).Seconds(), report.Table(results))
	return results, nil
}

// publish writes what is known so far, so that an interrupted run has left all of its rows.
func publish(out string, results []report.Result) error {
	all, err := report.Save(filepath.Join(out, "bench", "results.json"), sections(), results)
	if err != nil {
		return err
	}
	return report.Publish(out, sections(), all)
}

// finish prints the run's rows, and says what is not as it should be.
func finish(o options, p *unfinished, this report.Run, failed []error) error {
	fmt.Print(report.Table(p.Results))
	all, err := report.Load(filepath.Join(o.out, "bench", "results.json"))
	if err != nil {
		return err
	}
	if older := report.Older(all, this.Commit); len(older) > 0 {
		fmt.Printf("\nOlder than the commit %s: %s.\n", this.Commit, strings.Join(older, "; "))
	}
	if len(failed) > 0 {
		return errors.Join(failed...)
	}
	if missed := report.Missed(p.Results); len(missed) > 0 {
		err = fmt.Errorf("not met: %s", strings.Join(missed, "; "))
	}
	if o.all {
		err = errors.Join(err, p.done())
	}
	return err
}

// say tells how far the run is.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: %s %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// fresh is an empty folder below the data folder.
func (b *bench) fresh(name string) (string, error) {
	dir := filepath.Join(b.dir, name)
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o755)
}
