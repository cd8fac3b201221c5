package main

import (
	"os"
	"os/exec"
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

// TestFuzzTargetsRunOneAfterTheOther lets a go of the test's own answer scripts/fuzz.sh: the engine's own end is tried again, a failure is not.
func TestFuzzTargetsRunOneAfterTheOther(t *testing.T) {
	const late = "--- FAIL: FuzzX (2.10s)\n    context deadline exceeded\nFAIL"
	for _, c := range []struct {
		name, answer string
		calls        int // 0: each target's once
		fails        bool
	}{
		{"all hold", `echo "fuzz: elapsed: 2s, execs: 7 (3/sec)"`, 0, false},
		{"the engine ends late once", `[ $n = 1 ] && { printf '%b' '` + late + `\n'; exit 1; }`, -1, false},
		{"the engine ends late always", `printf '%b' '` + late + `\n'; exit 1`, 3, true},
		{"an input fails", `printf '%b' '` + late + `\nFailing input written to testdata\n'; exit 1`, 1, true},
		{"a test prints a deadline of its own", `printf '    a_test.go:7: context deadline exceeded\n'; exit 1`, 1, true},
		{"it does not build", `echo "undefined: x"; exit 1`, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			count := filepath.Join(dir, "count")
			script := "#!/bin/sh\necho x >>" + count + "\nn=$(wc -l <" + count + ")\n" + c.answer + "\nexit 0\n"
			if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(filepath.Join(root, "scripts/fuzz.sh"), "1s")
			cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if (err != nil) != c.fails {
				t.Fatalf("%v\n%s", err, out)
			}
			calls, targets := 0, strings.Count(string(out), "== ./")
			if data, err := os.ReadFile(count); err == nil {
				calls = strings.Count(string(data), "x")
			}
			if want := map[int]int{0: targets, -1: targets + 1}[c.calls]; c.calls <= 0 && (calls != want || targets < 30) || c.calls > 0 && calls != c.calls {
				t.Errorf("%d calls for %d targets", calls, targets)
			}
		})
	}
}
