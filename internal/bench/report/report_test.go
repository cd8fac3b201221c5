package report

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func section1() []Section {
	return []Section{{Name: "files", Group: "Files", About: "What runs.", Rows: []Row{
		{Name: "a", Unit: "s", Ratio: PeerByOurs, Required: AtLeast(2.5), Chart: "files", Label: "NDJSON <plain>"},
		{Name: "b", Unit: "MB", Required: AtMost(300), Chart: "files"},
		{Name: "c", Unit: "ms", Ratio: OursMinusPeer, Required: AtMost(2), Aim: AtMost(1)},
	}}}
}

func TestRatiosAreTakenWithinARound(t *testing.T) {
	row := Row{Name: "x", Unit: "s", Ratio: PeerByOurs, Required: AtLeast(1.2)}
	r := row.Result("w", Samples{Ours: []float64{1, 2, 4}, Peer: []float64{2, 6, 4}}, Run{Commit: "abc"})
	if *r.Ratio != 2 || r.Spread != "1.00 to 3.00" || !*r.Met || r.Ours != 2 || *r.Peer != 4 || r.Rounds != 3 || r.Commit != "abc" {
		t.Errorf("got %+v", r)
	}
}

func TestABoundHoldsForOursWithoutAPeer(t *testing.T) {
	r := Row{Name: "x", Unit: "MB", Required: AtMost(300)}.Result("w", Samples{Ours: []float64{301, 302}}, Run{})
	if *r.Met || r.Required != "at most 300.0" || r.Ratio != nil || r.Peer != nil {
		t.Errorf("got %+v", r)
	}
}

func TestADifferenceIsComparedAsOne(t *testing.T) {
	r := section1()[0].Rows[2].Result("w", Samples{Ours: []float64{5}, Peer: []float64{3.5}}, Run{})
	if *r.Ratio != 1.5 || !*r.Met || r.Aim != "at most 1.00" {
		t.Errorf("got %+v", r)
	}
}

func TestResultsOfRowsThatDidNotRunAreKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench", "results.json")
	sections, one := section1(), Samples{Ours: []float64{1}, Peer: []float64{3}}
	first := []Result{sections[0].Rows[0].Result("files", one, Run{Commit: "old"}), {Name: "of a row that is no more"}}
	if _, err := Save(file, sections, first); err != nil {
		t.Fatal(err)
	}
	if _, err := Save(file, sections, []Result{sections[0].Rows[2].Result("files", one, Run{Commit: "new"})}); err != nil {
		t.Fatal(err)
	}
	all, err := Load(file)
	if err != nil || len(all) != 2 || all[0].Name != "a" || all[1].Name != "c" {
		t.Fatalf("%+v: %v", all, err)
	}
	if older := Older(all, "new"); len(older) != 1 || older[0] != "files (old)" {
		t.Errorf("older: %q", older)
	}
}

func TestThePageShowsWhatIsMissedAndWhatWasNeverMeasured(t *testing.T) {
	dir, sections := t.TempDir(), section1()
	slow := sections[0].Rows[0].Result("files", Samples{Ours: []float64{1}, Peer: []float64{2}, Note: "Tried at 3 limits."}, Run{Commit: "abc", Date: "2026-01-31", Machine: "a machine"})
	if err := Publish(dir, sections, []Result{slow}); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "docs", "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"0 of 1 figures of which something is required keep it; not: a.",
		"| a | 1.00 s | 2.00 | 2.00 | 2.00 to 2.00 | at least 2.50 |  | NO | abc |",
		"## Files\n\nWhat runs.\n\n| what |", "| b | not measured yet |", "a. Tried at 3 limits.", "- 2026-01-31, a machine, commit abc", "(benchmarks/files.svg)", "## What peers do better",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

func TestChartsAreWellFormedAndFollowTheSchemeOfTheReader(t *testing.T) {
	sections := section1()
	fast := sections[0].Rows[0].Result("files", Samples{Ours: []float64{1}, Peer: []float64{3}}, Run{})
	all := charts(sections, []Result{fast})
	if len(all) != 1 || len(all[0].bars) != 1 {
		t.Fatalf("charts: %+v", all)
	}
	svg := all[0].svg()
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
	}
	for _, want := range []string{"NDJSON &lt;plain&gt;", ">3.00<", "prefers-color-scheme:dark", `role="img"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q in\n%s", want, svg)
		}
	}
}
