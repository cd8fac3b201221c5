package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A part measures one thing. It may give several results.
type part struct {
	name string
	run  func(context.Context, *bench) ([]Result, error)
}

func parts() []part {
	return []part{{"copy", measureCopy}, {"small", measureSmall}, {"memory", measureMemory}, {"kafka", measureKafka}}
}

// bench is what all parts share.
type bench struct {
	binary string // the program under test
	self   string // this program
	dir    string // for data
	rows   int
	rounds int
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == duckdbCopyCommand {
		exit(duckdbCopy(context.Background(), os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exit(run(ctx))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(ctx context.Context) error {
	b := &bench{}
	var only, out string
	flag.StringVar(&b.binary, "binary", "bin/microbatch", "the program to measure")
	flag.StringVar(&b.dir, "dir", "bench/data", "folder for input and output; on the disk to measure")
	flag.StringVar(&out, "out", ".", "folder of bench/results.json and docs/benchmarks.md")
	flag.StringVar(&only, "only", "", "parts to run, by commas: copy, small, memory, kafka; all if empty")
	flag.IntVar(&b.rows, "rows", 2_000_000, "rows of the large inputs")
	flag.IntVar(&b.rounds, "rounds", 5, "rounds that take turns")
	flag.Parse()
	if err := b.prepare(); err != nil {
		return err
	}
	var all []Result
	for _, p := range parts() {
		if only != "" && !slices.Contains(strings.Split(only, ","), p.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: %s ...\n", p.name)
		results, err := p.run(ctx, b)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		all = append(all, results...)
	}
	fmt.Print(table(all))
	if err := save(out, all); err != nil {
		return err
	}
	return verdict(all)
}

// prepare makes the paths absolute: the processes of the parts run in folders of their own.
func (b *bench) prepare() error {
	var err error
	if b.self, err = os.Executable(); err != nil {
		return err
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

// fresh is an empty folder below the data folder.
func (b *bench) fresh(name string) (string, error) {
	dir := filepath.Join(b.dir, name)
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o755)
}
