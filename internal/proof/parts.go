package main

import (
	"fmt"
	"regexp"
)

// part proves one thing.
type part struct {
	name string
	// command is how to repeat it from the module's folder. Its words have no spaces.
	command string
}

// parts are all of them.
func (p *proof) parts() []part {
	const test = "go test -count 1 -timeout 0 -tags failpoints,duckdb_arrow"
	processes := test + " ./internal/e2e"
	if p.services {
		processes = "make test-services"
	}
	return []part{
		{"crash", "make crash"},
		{"sim", fmt.Sprintf("make sim SEEDS=%d", p.seeds)},
		{"model", "make model"},
		{"interleavings", test + " ./internal/sim/interleave"},
		{"stores", test + " ./objstore/..."},
		{"museum", "make museum"},
		{"fuzz", fmt.Sprintf("make fuzz FUZZTIME=%v", p.fuzzTime)},
		{"processes", processes},
	}
}

var (
	targetForm = regexp.MustCompile(`(?m)^== .*`)
	execsForm  = regexp.MustCompile(`execs: (\d+)`)
)

// countFuzzing counts the fuzz targets that the output names, and the inputs that each had run when it ended. What tests count themselves is in the file of figures.
func (r *run) countFuzzing() {
	for _, output := range targetForm.Split(r.output.String(), -1)[1:] {
		r.figures["fuzz targets"]++
		if m := execsForm.FindAllStringSubmatch(output, -1); m != nil {
			r.figures["fuzz inputs"] += number(m[len(m)-1][1])
		}
	}
}
