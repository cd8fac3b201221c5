package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"microbatch/internal/page"
)

// docs is the page that shows the figures.
const docs = "docs/exactly-once.md"

// result is a part's, as bench/proof.json keeps it.
type result struct {
	Part    string `json:"part"`
	Command string `json:"command"`
	Held    bool   `json:"held"` // nothing was violated
	Seconds int    `json:"seconds"`
	machine
	Figures map[string]int `json:"figures"`
}

func load(file string) (results []result, err error) {
	if err := readJSON(file, &results); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return results, nil
}

// merge puts a result in the place of the former one of its part.
func merge(results []result, r result, order []string) []result {
	results = slices.DeleteFunc(results, func(old result) bool { return old.Part == r.Part || !slices.Contains(order, old.Part) })
	results = append(results, r)
	slices.SortFunc(results, func(a, b result) int { return slices.Index(order, a.Part) - slices.Index(order, b.Part) })
	return results
}

// save writes the figures for programs and for people.
func save(file string, results []result) error {
	data, err := json.MarshalIndent(results, "", "  ")
	if err == nil {
		err = os.WriteFile(file, append(data, '\n'), 0o644)
	}
	if err != nil {
		return err
	}
	return page.Section(docs, "figures", section(results), true)
}

// verdict is an error if a part found something wrong.
func verdict(results []result) error {
	var wrong []string
	for _, r := range results {
		if !r.Held {
			wrong = append(wrong, r.Part)
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("violations in %s", strings.Join(wrong, ", "))
	}
	return nil
}

// figure is a line of the page: the sum of some counts.
type figure struct {
	name string
	n    string
}

// figuresOf are the lines of the page.
func figuresOf(results []result) (lines []figure) {
	counts := map[string]int{}
	violations := 0
	for _, r := range results {
		for name, n := range r.Figures {
			counts[name] += n
		}
		if !r.Held {
			violations++
		}
	}
	line := func(name string, n int) {
		if n > 0 {
			lines = append(lines, figure{name, grouped(n)})
		}
	}
	line("crash points hit", counts["crash points hit"])
	line("processes that died there", counts["crashes"])
	for _, level := range []string{"first runs", "replays", "replays of replays"} {
		line("- in "+level, counts["crashes in "+level])
	}
	line("simulated lives of a query (seeds)", counts["simulation: seeds"])
	line("- batches in them", counts["simulation: batches"])
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if sink, ok := strings.CutPrefix(name, "simulation: batches to "); ok {
			line("- - to "+sink, counts[name])
		}
	}
	line("- versions of tables checked row by row", counts["simulation: versions checked"])
	line("- faults in them", counts["simulation: faults"])
	kinds := byKind(counts)
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		line("- - "+kind, kinds[kind])
	}
	line("ambiguous puts resolved", counts["simulation: ambiguous puts resolved"]+counts["store operations of unknown outcome"])
	line("zombies fenced", counts["simulation: zombies fenced"]+counts["zombies fenced"])
	line("states of the model explored", counts["model: states"])
	line("- transitions between them", counts["model: transitions"])
	line("histories of stores checked to be linearizable", counts["store histories checked"])
	line("- operations in them", counts["store operations checked"])
	line("kills of the real program by SIGKILL at fault points", sum(counts, "kills at "))
	line("errors injected into system calls", sum(counts, "injected "))
	line("takeovers by real processes", counts["takeovers"])
	if total := counts["seeded bugs"]; total > 0 {
		lines = append(lines, figure{"seeded bugs caught", fmt.Sprintf("%d of %d", counts["seeded bugs caught"], total)})
	}
	line("fuzz targets", counts["fuzz targets"])
	line("- inputs", counts["fuzz inputs"])
	return append(lines, figure{"violations", strconv.Itoa(violations)})
}

// byKind adds up the simulation's faults of each kind, over the phases.
func byKind(counts map[string]int) map[string]int {
	kinds := map[string]int{}
	for name, n := range counts {
		if rest, ok := strings.CutPrefix(name, "simulation: fault "); ok {
			kind, _, _ := strings.Cut(rest, " in ")
			kinds[kind] += n
		}
	}
	return kinds
}

func sum(counts map[string]int, prefix string) (n int) {
	for name, v := range counts {
		if strings.HasPrefix(name, prefix) {
			n += v
		}
	}
	return n
}

// grouped is a number with its thousands apart.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// text is the figures for a terminal.
func text(results []result) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, f := range figuresOf(results) {
		fmt.Fprintf(w, "%s\t%s\n", f.name, f.n)
	}
	fmt.Fprintln(w)
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%d s\t%s\t%s\n", r.Part, r.Seconds, held(r), r.Commit)
	}
	w.Flush()
	return b.String()
}

func held(r result) string {
	if r.Held {
		return "holds"
	}
	return "VIOLATED"
}

// section is the figures for the page.
func section(results []result) string {
	var b strings.Builder
	b.WriteString("| what | how many |\n|---|---|\n")
	for _, f := range figuresOf(results) {
		fmt.Fprintf(&b, "| %s | %s |\n", f.name, f.n)
	}
	b.WriteString("\n| part | repeat it with | seconds | result | commit | day | on |\n|---|---|---|---|---|---|---|\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| %s | `%s` | %d | %s | `%s` | %s | %s |\n", r.Part, r.Command, r.Seconds, held(r), r.Commit, r.Day, r.Machine)
	}
	return b.String()
}
