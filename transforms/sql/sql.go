package sql

import (
	"context"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/internal/duck"
	"microbatch/transforms"
)

// Config is what the operator is made from.
type Config struct {
	SQL         string // one SELECT over the view batch
	MemoryLimit int64  // bytes that DuckDB may hold; 0 is duck.DefaultMemoryLimit
	TempDir     string // where it may spill to; "" is nowhere
	Threads     int    // threads of DuckDB beside the part's own; 0 is none, and then results repeat exactly (Q1)
}

// Operator runs the query. Its DuckDB session is opened by the first Output and kept between batches, until Close.
type Operator struct {
	cfg Config

	mu      sync.Mutex
	session *session
	plan    *plan // of the last Output
}

var _ transforms.Operator = (*Operator)(nil)

// New is an operator that has not looked at its SQL yet: Output does.
func New(cfg Config) *Operator { return &Operator{cfg: cfg} }

// Describe is the query's text, which may evolve.
func (o *Operator) Describe() ident.Description {
	return ident.Description{Kind: "sql", Name: "sql", Evolution: map[string]any{"sql": o.cfg.SQL}}
}

// Output plans the query on an empty batch of the input schema.
func (o *Operator) Output(in *arrow.Schema) (*arrow.Schema, error) {
	p, _, err := o.planFor(context.Background(), in)
	if err != nil {
		return nil, err
	}
	return p.out, nil
}

// Requires is Any for a plan of projection and filter, and Whole for all others and before Output.
func (o *Operator) Requires() transforms.Distribution {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.plan != nil && o.plan.rowWise {
		return transforms.Distribution{Kind: transforms.Any}
	}
	return transforms.Distribution{Kind: transforms.Whole}
}

// Guarantee is exactly once. What a user should know about the query that is no error is there after Output.
func (o *Operator) Guarantee() guarantee.Link {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := guarantee.Link{
		Name:   "sql",
		Reason: "a batch that runs again has the same rows and time: functions of the clock are the batch's time, and functions that give another value each time (random(), uuid()) are refused",
	}
	if o.plan != nil {
		l.Warnings = o.plan.warnings
	}
	return l
}

// Open starts the query for one attempt of a batch.
func (o *Operator) Open(ctx context.Context, env transforms.Env) (transforms.Instance, error) {
	p, s, err := o.planFor(ctx, env.Input)
	if err != nil {
		return nil, err
	}
	return &instance{session: s, plan: p, env: env}, nil
}

// Close ends the DuckDB session. Instances are closed before. The operator may be used again.
func (o *Operator) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.session != nil {
		o.session.close()
		o.session = nil // the plan stays: Requires and Guarantee are asked after a check too
	}
	return nil
}

// planFor is the plan for an input schema, made anew if the last one was for another.
func (o *Operator) planFor(ctx context.Context, in *arrow.Schema) (*plan, *session, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.session == nil {
		if err := duck.Available(); err != nil {
			return nil, nil, err
		}
		s, err := openSession(ctx, o.cfg)
		if err != nil {
			return nil, nil, err
		}
		o.session = s
	}
	if o.plan == nil || !o.plan.in.Equal(in) {
		p, err := o.session.makePlan(ctx, o.cfg.SQL, in)
		if err != nil {
			return nil, nil, err
		}
		o.plan = p
	}
	return o.plan, o.session, nil
}
