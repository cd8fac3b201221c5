package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"microbatch/engine"
)

// program is the path of microbatch, built once with fault points.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "microbatch-e2e-")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "microbatch")
	out, err := exec.Command("go", "build", "-tags", "failpoints,duckdb_arrow", "-o", bin, "microbatch/cmd/microbatch").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return bin, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if bin, err := program(); err == nil {
		os.RemoveAll(filepath.Dir(bin))
	}
	os.Exit(code)
}

// child is a running `microbatch start`.
type child struct {
	t        *testing.T
	cmd      *exec.Cmd
	stderr   lockedBuffer
	progress chan engine.Progress // closed when the child has ended
	last     engine.Progress
	batches  int
	ended    chan error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start runs `microbatch start file args...` with progress as JSON lines.
func start(t *testing.T, env []string, file string, args ...string) *child {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, progress: make(chan engine.Progress, 100_000), ended: make(chan error, 1)}
	c.cmd = exec.Command(bin, append([]string{"start", file, "--progress", "json"}, args...)...)
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.Stderr = &c.stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.cmd.Process.Kill() })
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var p engine.Progress
			if err := json.Unmarshal(lines.Bytes(), &p); err == nil && p.ID != "" && p.Digest != "" {
				c.progress <- p
			}
		}
		close(c.progress)
		c.ended <- c.cmd.Wait()
	}()
	return c
}

// batch waits for the next finished batch; false if the child has ended.
func (c *child) batch(within time.Duration) bool {
	c.t.Helper()
	select {
	case p, ok := <-c.progress:
		if ok {
			c.last = p
			c.batches++
		}
		return ok
	case <-time.After(within):
		c.cmd.Process.Kill()
		c.t.Fatalf("no batch within %s; stderr:\n%s", within, c.stderr.String())
		return false
	}
}

// kill sends SIGKILL and waits.
func (c *child) kill() {
	c.t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.t.Fatal(err)
	}
	c.drain()
}

// drain waits for the end and takes the batches that were reported.
func (c *child) drain() error {
	for p := range c.progress {
		c.last = p
		c.batches++
	}
	return <-c.ended
}

// wait waits for a normal end.
func (c *child) wait(within time.Duration) {
	c.t.Helper()
	timer := time.AfterFunc(within, func() { c.cmd.Process.Kill() })
	defer timer.Stop()
	if err := c.drain(); err != nil {
		c.t.Fatalf("microbatch: %v; stderr:\n%s", err, c.stderr.String())
	}
}

// exit waits for the end and returns the exit code, -1 if a signal ended it.
func (c *child) exit() int {
	err := c.drain()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.ExitCode()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return 0
}

// run runs another command of the program and returns what it prints.
func run(t *testing.T, env []string, args ...string) string {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	var out, stderr bytes.Buffer
	cmd := exec.Command(bin, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("microbatch %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), stderr.String())
	}
	return out.String()
}

// write makes a file in dir.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
