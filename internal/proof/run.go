package main

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
	"strings"
	"time"

	"microbatch/internal/figures"
)

// run is a part being run.
type run struct {
	dir     string // for its files
	output  bytes.Buffer
	figures map[string]int
}

// do runs a command line in the module's folder. Its words have no spaces.
func (r *run) do(ctx context.Context, line string) error {
	words := strings.Fields(line)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = append(os.Environ(), figures.Environment+"="+filepath.Join(r.dir, "figures.jsonl"))
	cmd.Stdout, cmd.Stderr = &r.output, &r.output
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", line, err)
	}
	return nil
}

// counted adds up what the tests have counted.
func (r *run) counted() error {
	f, err := os.Open(filepath.Join(r.dir, "figures.jsonl"))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var line struct {
			Name  string
			Value int
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return fmt.Errorf("figures: %.80q: %w", lines.Text(), err)
		}
		r.figures[line.Name] += line.Value
	}
	return lines.Err()
}

// tail is the end of what the commands have printed.
func (r *run) tail() string {
	lines := strings.Split(strings.TrimSpace(r.output.String()), "\n")
	return strings.Join(lines[max(0, len(lines)-60):], "\n")
}

func readJSON(file string, into any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func number(text string) int {
	n, _ := strconv.Atoi(text) // it matched digits
	return n
}
