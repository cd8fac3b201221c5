package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"microbatch/internal/bench/report"
)

// measureCrash times the start after a kill -9 in the middle of a batch, on a query that has made many batches, as the time from exec to the end of the first
// batch that is new.
func measureCrash(ctx context.Context, b *bench) ([]report.Samples, error) {
	f, err := b.newFeed("crash", 1)
	if err != nil {
		return nil, err
	}
	batches := b.size(20_000, 100)
	b.say("  making %d batches", batches)
	if _, _, err := f.run(ctx, b, batches); err != nil {
		return nil, err
	}
	var first report.Samples
	f.rows = smallRows
	for range b.rounds {
		if err := f.add(30); err != nil {
			return nil, err
		}
		if _, err := b.startUntil(ctx, f, true, func(progress) bool { return true }); err != nil {
			return nil, err
		}
		took, err := b.startUntil(ctx, f, false, func(p progress) bool { return !p.Replayed })
		if err != nil {
			return nil, err
		}
		b.say("  %.3f s to the first new batch", took.Seconds())
		first.Ours = append(first.Ours, took.Seconds())
	}
	return []report.Samples{first}, b.removeAll("crash")
}

// startUntil runs the program and returns the time from exec to the first batch that is wanted. Then it kills the program, or lets it come to its end.
func (b *bench) startUntil(ctx context.Context, f *feed, kill bool, wanted func(progress) bool) (time.Duration, error) {
	file := filepath.Join(f.dir, "pipeline.yaml")
	if err := os.WriteFile(file, []byte(f.pipeline().text()), 0o644); err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, b.binary, "start", file, "--once", "--progress", "json")
	cmd.Dir, cmd.Env, cmd.Stderr = f.dir, append(os.Environ(), "GOMAXPROCS=2"), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	lines := bufio.NewReader(out)
	took, err := awaitBatch(lines, begin, wanted)
	if kill || err != nil {
		err = errors.Join(err, cmd.Process.Kill())
	}
	if _, drained := io.Copy(io.Discard, lines); drained != nil {
		err = errors.Join(err, drained)
	}
	if ended := cmd.Wait(); ended != nil && !kill {
		err = errors.Join(err, ended)
	}
	return took, err
}

// awaitBatch reads progress until a batch is wanted.
func awaitBatch(lines *bufio.Reader, begin time.Time, wanted func(progress) bool) (time.Duration, error) {
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return 0, fmt.Errorf("no batch came: %w", err)
		}
		p, ok, err := parseProgress(line)
		if err != nil {
			return 0, err
		}
		if ok && wanted(p) {
			return time.Since(begin), nil
		}
	}
}
