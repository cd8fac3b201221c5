package pgmodel

import (
	"context"
	"fmt"

	"microbatch/checker"
	"microbatch/codec/json"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/world"
	"microbatch/sinks"
	"microbatch/sinks/postgres"
)

// Target is a table of a server, to which a query writes.
type Target struct {
	*Server
	config postgres.Config
}

var _ world.Target = (*Target)(nil)

// NewTarget is a target that does not exist yet, which will be written to with some settings: mode, keys, order. The rest is filled in.
func NewTarget(c postgres.Config) *Target {
	c.Table, c.JSON, c.Parallel = "orders", json.NewEncoder, 1
	return &Target{New(), c}
}

// Sink is the table as a process writes to it.
func (t *Target) Sink(p *gate.Process) sinks.Sink {
	s, err := postgres.On(t.Connect(p), t.config)
	if err != nil {
		panic(fmt.Sprintf("pgmodel: %v", err)) // a mistake of the test
	}
	return s
}

// Position is what microbatch_positions says.
func (t *Target) Position(_ context.Context, query string) (checker.Position, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := checker.Position{Keeps: true, Batch: -1}
	for k, p := range t.positions {
		if string(k.Query) == query {
			out.Batch, out.Digest, out.Epoch, out.Entry = int64(p.Batch), p.Digest, int64(p.Epoch), p.Entry
		}
	}
	return out, nil
}

// Rows are the ids of the rows that are committed: their column id.
func (t *Target) Rows(context.Context) (ids []string, err error) {
	for _, r := range t.Server.Rows() {
		ids = append(ids, r["id"])
	}
	return ids, nil
}

// Clone is a second target with the same rows and positions, to which nobody is connected.
func (t *Target) Clone() world.Target { return &Target{t.Server.Clone(), t.config} }
