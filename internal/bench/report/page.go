package report

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// notes are the parts of the page that no program can measure: what peers do better, and where the time goes.
//
//go:embed notes.md
var notes string

const intro = `# Benchmarks

Written by ` + "`make bench`" + ` and ` + "`make bench-peers`" + ` ([internal/bench](../internal/bench/doc.go) says how they measure). What counts are the ratios: both sides ran in turns on the same
machine, and a ratio is taken within a round; shown are the median, and the least and the greatest of the rounds. Times are in the unit shown, of ours as of the peer's. A row keeps
the commit it was measured at, a commit with a ` + "`+`" + ` had changes that were not committed. The same figures for programs: [bench/results.json](../bench/results.json).

| to repeat | |
|---|---|
| all that needs no JVM as a peer | ` + "`make bench`" + ` |
| against Spark | ` + "`make bench-peers`" + ` |
| some rows (a regular expression over names) | ` + "`make build && go run -tags duckdb_arrow ./internal/bench --only gz`" + ` |

`

// Publish writes docs/benchmarks.md and its charts below a folder.
func Publish(dir string, sections []Section, all []Result) error {
	docs := filepath.Join(dir, "docs")
	charts := charts(sections, all)
	for _, c := range charts {
		if err := write(filepath.Join(docs, "benchmarks", c.name+".svg"), []byte(c.svg())); err != nil {
			return err
		}
	}
	return write(filepath.Join(docs, "benchmarks.md"), []byte(page(sections, all, charts)))
}

func page(sections []Section, all []Result, charts []chart) string {
	var b strings.Builder
	b.WriteString(intro)
	b.WriteString(verdict(all))
	for _, c := range charts {
		fmt.Fprintf(&b, "![%s](benchmarks/%s.svg)\n\n", c.title, c.name)
	}
	for len(sections) > 0 {
		n := 1
		for n < len(sections) && sections[n].Group == sections[0].Group {
			n++
		}
		group(&b, sections[:n], all)
		sections = sections[n:]
	}
	b.WriteString(machines(all))
	b.WriteString(notes)
	return b.String()
}

func verdict(all []Result) string {
	required := 0
	for _, r := range all {
		if r.Met != nil {
			required++
		}
	}
	missed := Missed(all)
	if len(missed) == 0 {
		return fmt.Sprintf("All %d figures of which something is required keep it.\n\n", required)
	}
	return fmt.Sprintf("%d of %d figures of which something is required keep it; not: %s.\n\n", required-len(missed), required, strings.Join(missed, "; "))
}

// group shows the sections of one group as one table, and below it what was noted at the measurements.
func group(b *strings.Builder, sections []Section, all []Result) {
	fmt.Fprintf(b, "## %s\n\n%s\n\n", sections[0].Group, sections[0].About)
	fmt.Fprintf(b, "| %s |\n|%s\n", strings.Join(header(), " | "), strings.Repeat("---|", len(header())))
	var remarks []string
	for _, s := range sections {
		for _, row := range s.Rows {
			r, ok := find(all, row.Name)
			if !ok {
				fmt.Fprintf(b, "| %s | not measured yet | | | | %s | %s | | |\n", row.Name, row.Required, row.Aim)
				continue
			}
			fmt.Fprintf(b, "| %s |\n", strings.Join(r.cells(), " | "))
			if r.Note != "" {
				remarks = append(remarks, row.Name+". "+r.Note)
			}
		}
	}
	fmt.Fprintf(b, "\n")
	for _, text := range remarks {
		fmt.Fprintf(b, "%s\n\n", text)
	}
}

// machines lists where the rows were measured, newest first.
func machines(all []Result) string {
	var lines []string
	for _, r := range all {
		line := fmt.Sprintf("- %s, %s, commit %s", r.Date, r.Machine, r.Commit)
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	slices.Reverse(lines)
	return "## Machines and versions\n\n" + strings.Join(lines, "\n") + "\n\n"
}
