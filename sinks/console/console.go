package console

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"microbatch/batch"
	"microbatch/codec"
	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/sinks"
)

// Config configures the sink.
type Config struct {
	// Writer takes the output.
	Writer io.Writer
	// Rows is how many rows of a batch are printed at most; 0 is 20.
	Rows int
	// Encoder prints each row as a line of text (JSON). nil prints an aligned table.
	Encoder codec.Encoder
}

// Sink prints batches. It is used by one goroutine.
type Sink struct {
	config Config
}

const defaultRows = 20

// New makes the sink.
func New(config Config) (*Sink, error) {
	if config.Writer == nil || config.Rows < 0 {
		return nil, errors.New("console sink: a writer and a number of rows that is not negative are required")
	}
	if config.Rows == 0 {
		config.Rows = defaultRows
	}
	return &Sink{config: config}, nil
}

// Describe is the configuration for the fingerprint.
func (s *Sink) Describe() ident.Description {
	return ident.Description{Kind: "console", Name: "ConsoleSink"}
}

// Check accepts every schema.
func (s *Sink) Check(context.Context, *arrow.Schema) error { return nil }

// Visible keeps no batch ids.
func (s *Sink) Visible(context.Context, sinks.QueryInfo) (sinks.Visible, error) {
	return sinks.Visible{Batch: ident.NoBatch}, nil
}

// Recover has nothing to recover.
func (s *Sink) Recover(context.Context, sinks.QueryInfo, *sinks.Intent) error { return nil }

// Prepare pulls all rows, counts them and keeps the first of each part.
func (s *Sink) Prepare(ctx context.Context, b *batch.Batch) (sinks.Pending, error) {
	p := &pending{batch: b, first: make([]rows, len(b.Parts))}
	g, ctx := errgroup.WithContext(ctx)
	for i, part := range b.Parts {
		g.Go(func() error { return p.first[i].pull(ctx, part, s.config.Rows) })
	}
	if err := g.Wait(); err != nil {
		p.release()
		return nil, err
	}
	return p, nil
}

// rows are the first rows of a part, and how many it had.
type rows struct {
	records []arrow.RecordBatch
	kept    int
	total   int64
}

func (r *rows) pull(ctx context.Context, part batch.Part, most int) error {
	for chunk, err := range part.Chunks(ctx) {
		if err != nil {
			return err
		}
		r.total += chunk.Rows()
		if n := min(chunk.Rows(), int64(most-r.kept)); n > 0 {
			r.records = append(r.records, chunk.Record.NewSlice(0, n))
			r.kept += int(n)
		}
		chunk.Release()
	}
	return nil
}

// pending is a batch that is ready to be printed.
type pending struct {
	batch *batch.Batch
	first []rows
}

// Staged is the number of rows.
func (p *pending) Staged() sinks.Staged {
	var n int64
	for _, r := range p.first {
		n += r.total
	}
	return sinks.Staged{Rows: n}
}

func (p *pending) release() {
	for i := range p.first {
		for _, record := range p.first[i].records {
			record.Release()
		}
		p.first[i].records = nil
	}
}

// Commit prints.
func (s *Sink) Commit(_ context.Context, pending sinks.Pending) (sinks.Result, error) {
	p, err := ours(pending)
	if err != nil {
		return sinks.Result{}, err
	}
	text, err := s.render(p)
	if err != nil {
		return sinks.Result{}, fmt.Errorf("console sink: %w", err)
	}
	if _, err := s.config.Writer.Write(text); err != nil {
		return sinks.Result{}, errcode.ConsoleFailed.Wrap(err, "batch "+p.batch.ID.String(), "")
	}
	p.release()
	return sinks.Result{Outcome: sinks.Committed, Version: -1}, nil
}

// Abort forgets the rows.
func (s *Sink) Abort(_ context.Context, pending sinks.Pending) error {
	p, err := ours(pending)
	if err == nil {
		p.release()
	}
	return err
}

// Guarantee is at least once.
func (s *Sink) Guarantee() guarantee.Link {
	return guarantee.Link{
		Name: "printing on the terminal", Level: guarantee.AtLeastOnce, Reason: "a terminal keeps no batch ids: a batch that was printed before a crash is printed again",
		Visible: "the first rows of a batch are printed, with how many it has",
	}
}

// Close leaves the writer open: it belongs to who made it.
func (s *Sink) Close() error { return nil }

func ours(p sinks.Pending) (*pending, error) {
	q, ok := p.(*pending)
	if !ok {
		return nil, fmt.Errorf("console sink: a pending batch of another sink: %T", p)
	}
	return q, nil
}
