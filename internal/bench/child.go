package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// usage is what a process took.
type usage struct {
	wall   time.Duration // from exec to exit
	cpu    time.Duration // user and system
	peak   int64         // resident set, bytes
	stdout []byte
}

// child runs a program with two processors and waits for it.
func child(ctx context.Context, dir, program string, args ...string) (usage, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	begin := time.Now()
	err := cmd.Run()
	u := usage{wall: time.Since(begin), stdout: stdout.Bytes()}
	if err != nil {
		return u, fmt.Errorf("%s %v: %w\n%s", program, args, err, stderr.Bytes())
	}
	u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.peak = int64(r.Maxrss) * 1024
	}
	return u, nil
}

// progress is what a batch reports with --progress json.
type progress struct {
	Event         string `json:"event"`
	BatchID       int64  `json:"batchId"`
	NumInputRows  int64  `json:"numInputRows"`
	BatchDuration int64  `json:"batchDuration"` // ms
	PhaseMs       map[string]float64
	Sink          struct {
		NumOutputRows int64 `json:"numOutputRows"`
		NumBytes      int64 `json:"numBytes"`
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

// start runs a pipeline once and returns what its batches reported. It is an error if not exactly so many rows came out.
func (b *bench) start(ctx context.Context, dir, pipeline string, rows int64) (usage, []progress, error) {
	file := dir + "/pipeline.yaml"
	if err := os.WriteFile(file, []byte(pipeline), 0o644); err != nil {
		return usage{}, nil, err
	}
	u, err := child(ctx, dir, b.binary, "start", file, "--once", "--progress", "json")
	if err != nil {
		return u, nil, err
	}
	var batches []progress
	var out int64
	for line := range bytes.Lines(u.stdout) {
		var p progress
		if err := json.Unmarshal(line, &p); err != nil {
			return u, nil, fmt.Errorf("progress %q: %w", line, err)
		}
		if p.Event == "progress" {
			batches, out = append(batches, p), out+p.Sink.NumOutputRows
		}
	}
	if out != rows {
		return u, nil, fmt.Errorf("%d rows came out, %d were expected", out, rows)
	}
	return u, batches, nil
}
