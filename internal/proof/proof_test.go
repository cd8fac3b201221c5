package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"microbatch/internal/page"
)

const root = "../.."

// TestThePageShowsTheFigures: what docs/exactly-once.md shows is what bench/proof.json holds, each part with the commit it was run at, and nothing was violated.
func TestThePageShowsTheFigures(t *testing.T) {
	results, err := load(filepath.Join(root, "bench/proof.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(results) == 0 {
		t.Skip("there are no figures yet")
	}
	if err := page.Section(filepath.Join(root, docs), "figures", section(results), false); err != nil {
		t.Errorf("%v: go run ./internal/proof writes it", err)
	}
	p := &proof{}
	last := -1
	for _, r := range results {
		at := slices.Index(p.order(), r.Part)
		if at <= last {
			t.Errorf("part %s is not known, or not in its place", r.Part)
		}
		last = at
		if r.Commit == "" || r.Day == "" || r.Machine == "" || r.Command == "" {
			t.Errorf("%s: it is not said what ran when and where: %+v", r.Part, r)
		}
	}
	if err := verdict(results); err != nil {
		t.Error(err)
	}
}

// TestFiguresOfParts: a part's figures replace its former ones, those of others stay, and the page adds up.
func TestFiguresOfParts(t *testing.T) {
	order := []string{"crash", "sim", "processes"}
	var all []result
	for _, r := range []result{
		{Part: "sim", Held: true, Figures: map[string]int{"simulation: zombies fenced": 5, "simulation: fault lose in commit": 2, "simulation: fault lose in read": 3}},
		{Part: "processes", Held: false, Figures: map[string]int{"zombies fenced": 1, "kills at commit.after": 1200, "kills at plan.before": 34}},
		{Part: "gone", Held: true},
		{Part: "crash", Held: true, Figures: map[string]int{"crashes": 1}},
		{Part: "crash", Held: true, Figures: map[string]int{"crashes": 7}},
	} {
		all = merge(all, r, order)
	}
	if len(all) != 3 || all[0].Part != "crash" {
		t.Fatalf("%+v", all)
	}
	text := section(all)
	for _, want := range []string{"| processes that died there | 7 |", "| zombies fenced | 6 |", "| - - lose | 5 |", "| kills of the real program by SIGKILL at fault points | 1,234 |", "| violations | 1 |", "VIOLATED"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if err := verdict(all); err == nil || !strings.Contains(err.Error(), "processes") {
		t.Errorf("the verdict is %v", err)
	}
}

// TestEveryFuzzTargetIsFound looks for them as the program does.
func TestEveryFuzzTargetIsFound(t *testing.T) {
	t.Chdir(root)
	all, err := targets()
	if err != nil || len(all) < 20 {
		t.Fatalf("%d targets, %v", len(all), err)
	}
	for _, target := range all {
		if _, err := os.Stat(target.dir); err != nil {
			t.Error(err)
		}
	}
}
