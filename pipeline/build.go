package pipeline

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"microbatch/engine"
	"microbatch/pipeline/config"
	"microbatch/sources"
)

// Options are what a pipeline file does not say. The zero value is usable.
type Options struct {
	Log      *slog.Logger // told what an operator should know while the query runs; nil: nobody
	Console  io.Writer    // where the console sink prints; nil: standard output
	Programs io.Writer    // what the program of a foreachbatch sink writes; nil: standard error
	// RetryFor is how long a service that does not answer is asked again before that is an error, which the query may then repeat; 0: as each adapter has it.
	RetryFor time.Duration
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Console == nil {
		o.Console = os.Stdout
	}
	if o.Programs == nil {
		o.Programs = os.Stderr
	}
	return o
}

// Build constructs the query of a pipeline file. It opens nothing.
// The caller may set more fields of the query (Listener, ShutdownTimeout, ...) before running it; the query then owns all components.
func Build(ctx context.Context, c *Config, o Options) (engine.Query, error) {
	b := newBuilder(c, o)
	q := engine.Query{
		Name:          c.Name,
		Delivery:      delivery(c.Delivery),
		OnError:       onError(c.OnError),
		MaxRejected:   engine.Ceiling{Rows: c.MaxRejected.Rows, Share: c.MaxRejected.Share},
		Trigger:       trigger(c.Trigger),
		Limit:         sources.Limit{Rows: c.Trigger.MaxRows, Bytes: int64(c.Trigger.MaxBytes), Files: c.Trigger.MaxFiles},
		BatchTimeout:  c.BatchTimeout.D(),
		RetainBatches: c.RetainBatches,
		MaxRestarts:   c.MaxRestarts,
		Log:           b.Log,
	}
	if c.MaxRestarts == 0 {
		q.MaxRestarts = -1 // the engine's zero is its default
	}
	source, err := b.source(ctx)
	if err != nil {
		return q, b.at("source", err)
	}
	q.Sources = []sources.Source{source}
	if q.Transforms, err = b.transforms(); err != nil {
		return q, err
	}
	if q.Sink, err = b.sink(ctx, source); err != nil {
		return q, b.at("sink", err)
	}
	if q.Rejected, err = b.rejected(ctx); err != nil {
		return q, b.at("rejected", err)
	}
	if q.OnError == engine.RejectRows && q.Rejected == nil { // a source whose rows always decode
		q.OnError = engine.FailQuery
	}
	if q.Checkpoint, err = b.stores.Private(ctx, c.Checkpoint); err != nil {
		return q, b.at("checkpoint", err)
	}
	return q, nil
}

// builder holds what the parts of a query have in common.
type builder struct {
	c      *Config
	stores *Stores
	Options
}

func newBuilder(c *Config, o Options) builder {
	stores := NewStores(c)
	stores.retryFor = o.RetryFor
	return builder{c, stores, o.withDefaults()}
}

// at says where in the file the part stands that cannot be built.
func (b builder) at(path string, err error) error {
	return fmt.Errorf("%s: %s: %w", b.c.Place(path), path, err)
}

// notice passes on what an adapter wants an operator to know.
func (b builder) notice(text string) { b.Log.Warn(text) }

func delivery(word string) engine.Delivery {
	if word == engine.AtMostOnce.String() {
		return engine.AtMostOnce
	}
	return engine.ExactlyOnce
}

func onError(word string) engine.OnError {
	switch word {
	case "fail":
		return engine.FailQuery
	case "drop":
		return engine.DropRows
	}
	return engine.RejectRows
}

func trigger(t config.Trigger) engine.Trigger {
	out := engine.Trigger{Once: t.Once, MinPause: t.MinPause.D()}
	if t.Every != nil {
		out.Every = t.Every.D()
	}
	return out
}
