package main

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
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
		{"fuzz", "make fuzz FUZZTIME=" + p.fuzzTime.String(), func(ctx context.Context, r *run) error { return p.fuzz(ctx, r) }},
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

var (
	targetForm = regexp.MustCompile(`(?m)^== .*`)
	execsForm  = regexp.MustCompile(`execs: (\d+)`)
)

// fuzz runs every target for a while, and counts the inputs that each has run when it ends.
func (p *proof) fuzz(ctx context.Context, r *run) error {
	err := r.do(ctx, "./scripts/fuzz.sh "+p.fuzzTime.String())
	for _, output := range targetForm.Split(r.output.String(), -1)[1:] {
		r.figures["fuzz targets"]++
		if m := execsForm.FindAllStringSubmatch(output, -1); m != nil {
			r.figures["fuzz inputs"] += number(m[len(m)-1][1])
		}
	}
	return err
}
