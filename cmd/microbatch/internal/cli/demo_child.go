package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// demoChild is this program running the demonstration's pipeline.
type demoChild struct {
	cmd  *exec.Cmd
	errs bytes.Buffer
	read chan struct{} // closed when its output has ended
}

// start runs `microbatch start --once` as a process of its own and shows its batches as they are done.
func (d *demo) start(ctx context.Context) (*demoChild, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &demoChild{cmd: exec.CommandContext(ctx, program, "start", d.path("demo.yaml"), "--once", "--progress", "json"), read: make(chan struct{})}
	c.cmd.Stderr = &c.errs
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			d.show(lines.Bytes())
		}
	}()
	return c, nil
}

// show prints an event of the child in words.
func (d *demo) show(line []byte) {
	var e struct {
		Event    string  `json:"event"`
		Plan     string  `json:"plan"`
		Batch    int64   `json:"batchId"`
		Rows     int64   `json:"numInputRows"`
		Millis   float64 `json:"batchDuration"`
		Replayed bool    `json:"replayed"`
		Sink     struct {
			Version int64  `json:"version"`
			Outcome string `json:"outcome"`
		} `json:"sink"`
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return // the last line of a killed process may be torn
	}
	switch e.Event {
	case "started":
		d.say("   %s", e.Plan)
	case "progress":
		again := ""
		if e.Replayed {
			again = ", again"
		}
		d.say("   batch %d%s: %s rows in %.2f s, %s, table version %d", e.Batch, again, thousands(e.Rows), e.Millis/1000, e.Sink.Outcome, e.Sink.Version)
	}
}

// killIn waits until batch id is written down and not done, kills the child and waits for its end.
func (c *demoChild) killIn(ctx context.Context, d *demo, id int) error {
	offsets, commits := d.path(filepath.Join("checkpoint", "offsets", strconv.Itoa(id))), d.path(filepath.Join("checkpoint", "commits", strconv.Itoa(id)))
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for running := true; running && !(exists(offsets) && !exists(commits)); {
		select {
		case <-c.read: // the child has ended by itself
			running = false
		case <-ctx.Done():
			running = false
		case <-tick.C:
		}
	}
	wait(ctx, 15*time.Millisecond) // into the batch: rows are being written
	if err := c.cmd.Process.Kill(); err != nil && !isDone(err) {
		return err
	}
	<-c.read
	err := c.cmd.Wait()
	if err != nil && c.errs.Len() > 0 { // it ended by an error of its own
		return fmt.Errorf("the demo's pipeline: %w\n%s", err, c.errs.String())
	}
	return ctx.Err()
}

func isDone(err error) bool { return err == os.ErrProcessDone }

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// wait waits for the child's good end.
func (c *demoChild) wait(*demo) error {
	<-c.read
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("the demo's pipeline: %w\n%s", err, c.errs.String())
	}
	return nil
}
