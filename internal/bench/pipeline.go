package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A pipeline is what a workload runs: the parts of its file that differ.
type pipeline struct {
	name       string // "" is bench
	source     string // "files: {path: ...}" or "kafka: {...}"
	format     string // "json", "csv", "parquet"
	schema     string
	transform  string // a list of steps in brackets, "" for none
	table      string // its place
	checkpoint string // its place; "" is in the table
	sink       string // further keys of sink.table
	into       string // the sink, if it is no table
	trigger    string // keys of trigger
	more       string // further lines
}

// text is the pipeline file.
func (p pipeline) text() string {
	var s strings.Builder
	fmt.Fprintf(&s, "name: %s\nsource:\n  %s\n  format: %s\n  schema: %q\n", cmp.Or(p.name, "bench"), p.source, p.format, p.schema)
	if p.transform != "" {
		fmt.Fprintf(&s, "transform: %s\n", p.transform)
	}
	if p.into != "" {
		fmt.Fprintf(&s, "sink:\n  %s\non_error: fail\n", p.into)
	} else {
		fmt.Fprintf(&s, "sink:\n  table: {path: %q, compression: snappy%s}\n", p.table, comma(p.sink))
	}
	if p.checkpoint != "" {
		fmt.Fprintf(&s, "checkpoint: %q\n", p.checkpoint)
	}
	fmt.Fprintf(&s, "trigger: {every: 0s%s}\n%s", comma(p.trigger), p.more)
	return s.String()
}

func comma(keys string) string {
	if keys == "" {
		return ""
	}
	return ", " + keys
}

// files is the source of a folder.
func files(dir string) string { return fmt.Sprintf("files: {path: %q}", dir) }

// progress is what a batch reports with --progress json.
type progress struct {
	Event        string    `json:"event"`
	BatchID      int64     `json:"batchId"`
	Timestamp    time.Time `json:"timestamp"`
	NumInputRows int64     `json:"numInputRows"`
	Replayed     bool      `json:"replayed"`
	PhaseMs      map[string]float64
	Sink         struct {
		NumOutputRows int64 `json:"numOutputRows"`
	}
}

// total is the time of a batch, in milliseconds.
func (p progress) total() float64 {
	var ms float64
	for _, v := range p.PhaseMs {
		ms += v
	}
	return ms
}

// totals are the times of batches, in milliseconds.
func totals(batches []progress) []float64 {
	var ms []float64
	for _, p := range batches {
		ms = append(ms, p.total())
	}
	return ms
}

// start runs a pipeline until it has taken what is there, and returns what its batches reported. It is an error if not exactly so many rows came in.
func (b *bench) start(ctx context.Context, dir string, p pipeline, rows int64) (usage, []progress, error) {
	file := filepath.Join(dir, "pipeline.yaml")
	if err := os.WriteFile(file, []byte(p.text()), 0o644); err != nil {
		return usage{}, nil, err
	}
	u, err := b.child(ctx, dir, b.binary, "start", file, "--once", "--progress", "json")
	if err != nil {
		return u, nil, err
	}
	var batches []progress
	var in int64
	for line := range bytes.Lines(u.stdout) {
		p, ok, err := parseProgress(line)
		if err != nil {
			return u, nil, err
		}
		if ok {
			batches, in = append(batches, p), in+p.NumInputRows
		}
	}
	if in != rows {
		return u, nil, fmt.Errorf("%d rows came in, %d were expected", in, rows)
	}
	return u, batches, nil
}

// parseProgress reads a line; ok false is another event than the end of a batch.
func parseProgress(line []byte) (p progress, ok bool, err error) {
	if err := json.Unmarshal(line, &p); err != nil {
		return p, false, fmt.Errorf("progress %q: %w", line, err)
	}
	return p, p.Event == "progress", nil
}
