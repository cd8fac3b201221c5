package foreachbatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/batch"
	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/failpoint"
	"microbatch/sinks"
)

// Sink hands batches to the user's code. It is used by one goroutine.
type Sink struct {
	config Config
	query  sinks.QueryInfo // since Recover
	spool  *spool          // the newest
}

// New makes the sink. An error lists all that is wrong with the configuration.
func New(config Config) (*Sink, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("foreachbatch sink: %w", err)
	}
	return &Sink{config: config}, nil
}

// Describe is the configuration for the fingerprint. What the code does is the user's affair: a changed command is another evolution, not another query.
func (s *Sink) Describe() ident.Description {
	d := ident.Description{Kind: "foreachbatch", Name: "ForeachBatchSink", Evolution: map[string]any{}}
	maps.Copy(d.Evolution, s.config.What)
	if s.config.Func == nil {
		d.Evolution["command"] = strings.Join(s.config.Command, "\x00")
	}
	return d
}

// Check asks the function's own check, or looks whether the program is there.
func (s *Sink) Check(_ context.Context, in *arrow.Schema) error {
	if s.config.Check != nil {
		return s.config.Check(in)
	}
	if s.config.Func != nil {
		return nil
	}
	program := s.config.Command[0]
	if strings.ContainsRune(program, filepath.Separator) && !filepath.IsAbs(program) {
		program = filepath.Join(s.config.Dir, program) // not looked for on PATH
		if !filepath.IsAbs(program) {
			program = "." + string(filepath.Separator) + program
		}
	}
	if _, err := exec.LookPath(program); err != nil {
		return errcode.CommandMissing.Wrap(err, s.config.Command[0], "")
	}
	return nil
}

// Visible keeps no batch ids.
func (s *Sink) Visible(context.Context, sinks.QueryInfo) (sinks.Visible, error) {
	return sinks.Visible{Batch: ident.NoBatch}, nil
}

// Recover notes who commits. What was spooled and neither committed nor aborted is forgotten: it is spooled again.
func (s *Sink) Recover(_ context.Context, q sinks.QueryInfo, _ *sinks.Intent) error {
	s.query = q
	return s.Close()
}

// pending is a batch that is spooled.
type pending struct {
	batch Batch
}

// Staged is what the spool holds.
func (p *pending) Staged() sinks.Staged {
	return sinks.Staged{Rows: p.batch.Count, Bytes: p.batch.spool.bytes, Files: 1}
}

// Prepare spools the rows.
func (s *Sink) Prepare(ctx context.Context, b *batch.Batch) (sinks.Pending, error) {
	spooled, err := newSpool(ctx, s.config.SpoolDir, b, s.config.Alloc)
	if err != nil {
		return nil, err
	}
	s.spool = spooled
	return &pending{Batch{
		Query: s.query.ID, ID: b.ID, Epoch: s.query.Epoch, Attempt: b.Attempt, Digest: b.Digest, Timestamp: b.Timestamp,
		Schema: b.Schema, Count: spooled.rows, spool: spooled, alloc: s.config.Alloc,
	}}, nil
}

// Commit calls the user's code. A newer epoch is looked for first: that narrows the time in which two drivers may call it, and does not close it.
func (s *Sink) Commit(ctx context.Context, staged sinks.Pending) (sinks.Result, error) {
	p, err := ours(staged)
	if err != nil {
		return sinks.Result{}, err
	}
	newest, err := s.query.Newest(ctx)
	if err != nil {
		return sinks.Result{}, errors.Join(fmt.Errorf("foreachbatch sink: look for a newer epoch: %w", err), p.batch.spool.close())
	}
	if newest > s.query.Epoch {
		why := fmt.Errorf("epoch %s was claimed, this driver has %s", newest, s.query.Epoch)
		return sinks.Result{Outcome: sinks.Fenced, Version: -1, Why: why}, nil
	}
	failpoint.Hit("foreachbatch.called")
	if err := s.call(ctx, p.batch); err != nil { // before the batch is passed again it is spooled again
		return sinks.Result{}, errors.Join(err, p.batch.spool.close())
	}
	failpoint.Hit("foreachbatch.returned")
	if err := p.batch.spool.close(); err != nil {
		return sinks.Result{}, fmt.Errorf("foreachbatch sink: close the spool: %w", err)
	}
	return sinks.Result{Outcome: sinks.Committed, Version: -1}, nil
}

// errTimeout is the cause when a call has used up its time.
type errTimeout struct{ after time.Duration }

func (e errTimeout) Error() string { return fmt.Sprintf("no result after %s", e.after) }

// call runs the function or the program within the time it has.
func (s *Sink) call(ctx context.Context, b Batch) error {
	if limit := s.config.Timeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errTimeout{limit})
		defer cancel()
	}
	if s.config.Func == nil {
		return explain(s.config.run(ctx, b), b)
	}
	err := s.config.Func(ctx, b)
	if err != nil && ctx.Err() != nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	return explain(err, b)
}

// explain gives an error of the user's code its code. The end of the query's own context stays as it is.
func explain(err error, b Batch) error {
	_, coded := errors.AsType[*errcode.Error](err)
	_, late := errors.AsType[errTimeout](err)
	switch {
	case err == nil:
		return nil
	case late:
		return errcode.CommandTimeout.Wrap(err, place(b), "")
	case coded, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("foreachbatch sink: %w", err)
	}
	return errcode.ForeachFailed.Wrap(err, place(b), "")
}

// Abort forgets the spool.
func (s *Sink) Abort(_ context.Context, staged sinks.Pending) error {
	p, err := ours(staged)
	if err != nil {
		return err
	}
	return p.batch.spool.close()
}

// Guarantee is at least once, unless the user's code does better.
func (s *Sink) Guarantee() guarantee.Link {
	name, remedy := cmp.Or(s.config.Name, "foreachbatch with your function"), cmp.Or(s.config.Remedy, "code that stores query id and batch id with the rows in one transaction, and skips a pair that it has, makes it exactly once")
	if s.config.Func == nil {
		name = "foreachbatch with the program " + s.config.Command[0]
	}
	if s.config.Exact != "" {
		return guarantee.Link{Name: name, Level: guarantee.ExactlyOnce, Reason: s.config.Exact, Visible: "all of a batch at once, when its transaction commits"}
	}
	return guarantee.Link{
		Name: name, Level: guarantee.AtLeastOnce,
		Reason:  "after a crash the same batch may be passed again, with the same batch id and the same rows",
		Remedy:  remedy,
		Repeats: s.config.Resends,
		Visible: "when your code makes them so",
	}
}

// Close frees the newest spool, if it is still there.
func (s *Sink) Close() error {
	if s.spool == nil {
		return nil
	}
	return s.spool.close()
}

func ours(p sinks.Pending) (*pending, error) {
	q, ok := p.(*pending)
	if !ok {
		return nil, fmt.Errorf("foreachbatch sink: a pending batch of another sink: %T", p)
	}
	return q, nil
}
