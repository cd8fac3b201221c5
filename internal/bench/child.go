package main

import (
	"bytes"
	"context"
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
func (b *bench) child(ctx context.Context, dir, program string, args ...string) (usage, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append(b.env, "GOMAXPROCS=2", "PYTHONUNBUFFERED=1", "SPARK_LOCAL_IP=127.0.0.1")...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
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
