package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	tags     = "failpoints,duckdb_arrow"
	services = tags + ",services"
)

// part proves one thing.
type part struct {
	name string
	// command is how to repeat it from the module's folder.
	command string
	run     func(ctx context.Context, r *run) error
}

// parts are all of them.
func (p *proof) parts() []part {
	test := func(name, packages, more, args string) part {
		command := "go test -tags " + tags + " -count 1 -timeout 0 " + more + packages
		if args != "" {
			command += " -args " + args
		}
		return part{name, command, func(ctx context.Context, r *run) error { return r.do(ctx, command) }}
	}
	processes := test("processes", "./internal/e2e", "", "")
	if p.services {
		processes.command = "go test -tags " + services + " -count 1 -timeout 0 -p 1 ./internal/e2e/... ./objstore/localfs/..."
		processes.run = func(ctx context.Context, r *run) error { return r.do(ctx, processes.command) }
	}
	return []part{
		test("crash", "./internal/sim/crashtest", "", "-full"),
		test("sim", "./internal/sim", "-run ^TestSeeds$ ", fmt.Sprintf("-seeds %d", p.seeds)),
		test("model", "./internal/sim/explore", "", "-full"),
		test("interleavings", "./internal/sim/interleave", "", ""),
		test("stores", "./objstore/...", "", ""),
		{"museum", "go run ./internal/museum", museum},
		{"fuzz", "make fuzz", func(ctx context.Context, r *run) error { return p.fuzz(ctx, r) }},
		processes,
	}
}

// museum switches on one seeded bug after the other.
func museum(ctx context.Context, r *run) error {
	file := filepath.Join(r.dir, "museum.json")
	err := r.do(ctx, "go run ./internal/museum --json "+file)
	var out struct{ Caught, Total int }
	if readErr := readJSON(file, &out); readErr != nil {
		return firstOf(err, readErr)
	}
	r.figures["seeded bugs"], r.figures["seeded bugs caught"] = out.Total, out.Caught
	return err
}

// target is a fuzz target.
type target struct{ dir, name string }

var (
	targetForm = regexp.MustCompile(`(?m)^func (Fuzz[A-Za-z0-9]+)\(`)
	execsForm  = regexp.MustCompile(`execs: (\d+)`)
)

// targets are all fuzz targets of the module, sorted.
func targets() (out []target, err error) {
	err = filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range targetForm.FindAllSubmatch(text, -1) {
			out = append(out, target{"./" + filepath.ToSlash(filepath.Dir(path)), string(m[1])})
		}
		return nil
	})
	slices.SortFunc(out, func(a, b target) int { return strings.Compare(a.dir+" "+a.name, b.dir+" "+b.name) })
	return out, err
}

// fuzz runs every target for a while.
func (p *proof) fuzz(ctx context.Context, r *run) error {
	all, err := targets()
	if err != nil {
		return err
	}
	for _, t := range all {
		mark := r.output.Len()
		failed := r.do(ctx, fmt.Sprintf("go test -tags %s -run ^$ -fuzz ^%s$ -fuzztime %s -fuzzminimizetime 20x -parallel 1 %s", tags, t.name, p.fuzzTime, t.dir))
		if failed != nil {
			return failed
		}
		r.figures["fuzz targets"]++
		if m := execsForm.FindAllStringSubmatch(r.output.String()[mark:], -1); m != nil {
			r.figures["fuzz inputs"] += number(m[len(m)-1][1])
		}
	}
	return nil
}
