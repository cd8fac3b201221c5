package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRowsAreTheSameForTheSameSeed(t *testing.T) {
	a, b := newGenerator(7), newGenerator(7)
	for range 100 {
		row := a.append(nil)
		if string(row) != string(b.append(nil)) {
			t.Fatal("two generators of one seed differ")
		}
		var fields map[string]any
		if err := json.Unmarshal(row, &fields); err != nil || len(fields) != 8 {
			t.Fatalf("%s: %d fields, %v", row, len(fields), err)
		}
	}
}

func TestRatiosAreTakenWithinARound(t *testing.T) {
	r := compared("x", "s", []float64{1, 2, 4}, []float64{2, 6, 4}, func(ours, peer float64) float64 { return peer / ours }, atLeast(1.2))
	if *r.Ratio != 2 || r.Spread != "1.00 to 3.00" || !*r.Met || r.Ours != 2 || *r.Peer != 4 {
		t.Errorf("got %+v", r)
	}
	if r := alone("x", "MB", []float64{301, 302}, atMost(300)); *r.Met || r.Required != "at most 300.0" {
		t.Errorf("got %+v", r)
	}
}

func TestResultsOfPartsThatDidNotRunAreKept(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := save(dir, []Result{alone("a", "s", []float64{1}, nil), alone("b", "s", []float64{2}, nil)}); err != nil {
		t.Fatal(err)
	}
	if err := save(dir, []Result{alone("b", "s", []float64{3}, atMost(2))}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "bench", "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []Result
	if err := json.Unmarshal(text, &all); err != nil || len(all) != 2 || all[0].Ours != 1 || all[1].Ours != 3 {
		t.Errorf("%s: %v", text, err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "docs", "benchmarks.md"))
	if err != nil || !strings.Contains(string(page), "| b | 3.00 s | - | - | 3.00 to 3.00 | at most 2.00 | NO |") {
		t.Errorf("%s: %v", page, err)
	}
	if err := verdict(all); err == nil || !strings.Contains(err.Error(), "not met: b") {
		t.Errorf("got %v", err)
	}
}

func TestReplayWritesEveryFileOfTheBatches(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	for name, content := range map[string]string{"table/part-0.parquet": "data", "checkpoint/offsets/0": "v1", "pipeline.yaml": "not a batch's"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := written(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("%d files, %v", len(files), err)
	}
	if ms, err := replay(dir, 1); err != nil || ms <= 0 {
		t.Errorf("%v ms, %v", ms, err)
	}
}
