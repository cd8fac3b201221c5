package foreachbatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode"

	"microbatch/internal/errcode"
)

const (
	// tailBytes is how much of a program's standard error goes into a message.
	tailBytes = 4 << 10
	// pipeDelay is how long the output of a program that has ended is waited for, when a process it started still holds it.
	pipeDelay = 2 * time.Second
)

// run runs the program on a batch.
func (c Config) run(ctx context.Context, b Batch) error {
	stdin, err := b.spool.rewind()
	if err != nil {
		return err
	}
	tail := &tail{}
	cmd := exec.CommandContext(ctx, c.Command[0], c.Command[1:]...)
	cmd.Dir = c.Dir
	cmd.Stdin = stdin // the file itself: nothing is copied by this process
	cmd.Stdout, cmd.Stderr = c.Output, io.Writer(tail)
	if c.Output != nil {
		cmd.Stderr = io.MultiWriter(tail, c.Output)
	}
	cmd.Env = append(append(os.Environ(), c.Env...), environment(b)...)
	cmd.WaitDelay = pipeDelay
	err = runGroup(cmd)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrWaitDelay) && cmd.ProcessState.Success() && ctx.Err() == nil: // it ended well; something it started still holds its output
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case cmd.ProcessState == nil:
		return errcode.CommandMissing.Wrap(err, c.Command[0], "")
	}
	return errcode.CommandFailed.New(place(b), "%s: %s%s", c.Command[0], cmd.ProcessState, tail)
}

// environment is what tells a program which batch it has.
func environment(b Batch) []string {
	return []string{
		"MICROBATCH_QUERY_ID=" + string(b.Query),
		"MICROBATCH_BATCH_ID=" + b.ID.String(),
		"MICROBATCH_EPOCH=" + b.Epoch.String(),
		"MICROBATCH_ATTEMPT=" + string(b.Attempt),
		"MICROBATCH_DIGEST=" + b.Digest.String(),
	}
}

func place(b Batch) string { return fmt.Sprintf("batch %s of query %s", b.ID, b.Query) }

// tail keeps the end of what is written to it.
type tail struct{ end []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.end = append(t.end, p...)
	if len(t.end) > tailBytes {
		t.end = append(t.end[:0], t.end[len(t.end)-tailBytes:]...)
	}
	return len(p), nil
}

// String is the end, on lines of its own, without anything that could forge log lines or move a cursor.
func (t *tail) String() string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.end), "�"))
	if text == "" {
		return " (it wrote nothing to standard error)"
	}
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString("\n  | " + strings.Map(visible, strings.TrimSuffix(line, "\r")))
	}
	return b.String()
}

func visible(r rune) rune {
	if unicode.IsPrint(r) || r == '\t' {
		return r
	}
	return '�'
}
