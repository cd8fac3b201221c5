package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// proof is what the flags say.
type proof struct {
	seeds    int
	fuzzTime time.Duration
	services bool
	only     string
	file     string
	noDocs   bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := &proof{}
	flag.IntVar(&p.seeds, "seeds", 2000, "simulations")
	flag.DurationVar(&p.fuzzTime, "fuzztime", 5*time.Second, "time of each fuzz target")
	flag.BoolVar(&p.services, "services", false, "the processes also on real services, and with injected errors: needs what make test-services needs")
	flag.StringVar(&p.only, "only", "", "parts to run, by commas: crash, sim, model, interleavings, stores, museum, fuzz, processes; all if empty")
	flag.StringVar(&p.file, "json", "bench/proof.json", "where the figures are kept")
	flag.BoolVar(&p.noDocs, "no-docs", false, "do not write docs/exactly-once.md, nor the file of figures")
	flag.Parse()
	if err := p.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "proof:", err)
		os.Exit(1)
	}
}

func (p *proof) run(ctx context.Context) error {
	chosen, err := p.choose()
	if err != nil {
		return err
	}
	results, err := load(p.file)
	if err != nil {
		return err
	}
	machine := thisMachine(ctx)
	for _, part := range chosen {
		fmt.Fprintf(os.Stderr, "proof: %s ...\n", part.name)
		r, err := p.runPart(ctx, part, machine)
		if err != nil {
			return err
		}
		results = merge(results, r, p.order())
		if !p.noDocs {
			if err := save(p.file, results); err != nil {
				return err
			}
		}
	}
	fmt.Print(text(results))
	return verdict(results)
}

// choose are the parts that are wanted.
func (p *proof) choose() ([]part, error) {
	all := p.parts()
	if p.only == "" {
		return all, nil
	}
	var chosen []part
	for name := range strings.SplitSeq(p.only, ",") {
		i := slices.IndexFunc(all, func(part part) bool { return part.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no part %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func (p *proof) order() (names []string) {
	for _, part := range p.parts() {
		names = append(names, part.name)
	}
	return names
}

// runPart runs a part. A violation is a result, and no error.
func (p *proof) runPart(ctx context.Context, part part, m machine) (result, error) {
	dir, err := os.MkdirTemp("", "microbatch-proof-")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.Abs(dir); err != nil {
		return result{}, err
	}
	r := &run{dir: dir, figures: map[string]int{}}
	began := time.Now()
	violation := r.do(ctx, part.command)
	if ctx.Err() != nil {
		return result{}, ctx.Err()
	}
	if err := r.counted(); err != nil {
		return result{}, err
	}
	if part.name == "fuzz" {
		r.countFuzzing()
	}
	if violation != nil {
		fmt.Fprintf(os.Stderr, "%s\nproof: %s: %v\n", r.tail(), part.name, violation)
	}
	return result{Part: part.name, Command: part.command, Held: violation == nil, Seconds: int(time.Since(began).Seconds()), machine: m, Figures: r.figures}, nil
}

// machine is what ran a part.
type machine struct {
	Commit  string `json:"commit"` // with a plus if files differ from it
	Day     string `json:"day"`
	Machine string `json:"machine"`
}

func thisMachine(ctx context.Context) machine {
	m := machine{Commit: "unknown", Day: time.Now().UTC().Format(time.DateOnly), Machine: fmt.Sprintf("%s/%s, %d processors, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())}
	if out, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output(); err == nil {
		m.Commit = strings.TrimSpace(string(out))
	}
	if out, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--untracked-files=no").Output(); err == nil && len(out) > 0 {
		m.Commit += "+"
	}
	return m
}
