package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// usage is what a process took.
type usage struct {
	wall   time.Duration // from exec to exit
	cpu    time.Duration // user and system
	peak   int64         // resident set, bytes; seen to within some milliseconds
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
	if err := cmd.Start(); err != nil {
		return usage{}, fmt.Errorf("%s: %w", program, err)
	}
	ended := make(chan struct{})
	peak := make(chan int64, 1)
	go func() { peak <- watchMemory(cmd.Process.Pid, ended) }()
	err := cmd.Wait()
	u := usage{wall: time.Since(begin), stdout: stdout.Bytes()}
	close(ended)
	u.peak = <-peak
	if err != nil {
		return u, fmt.Errorf("%s %v: %w\n%s", program, args, err, stderr.Bytes())
	}
	u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return u, nil
}

// watchMemory reads the high-water mark of a process until it has ended. What the kernel reports of an ended process is no use: there the memory of the
// process that started it counts too.
func watchMemory(pid int, ended <-chan struct{}) int64 {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var peak int64
	for {
		select {
		case <-ended:
			return peak
		case <-tick.C:
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue
		}
		_, rest, ok := bytes.Cut(text, []byte("VmHWM:"))
		var kib int64
		if _, err := fmt.Sscan(string(rest), &kib); ok && err == nil {
			peak = max(peak, kib*1024)
		}
	}
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
