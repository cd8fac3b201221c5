package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"microbatch/sinks"
	"microbatch/sinks/foreachbatch"
)

// callsOutput is a function of the user's, which gets each batch.
type callsOutput struct {
	s     *simulation
	calls map[int64]call
}

// call is a batch as the user's function got it.
type call struct {
	digest string
	rows   string
}

func (c *callsOutput) sink(a *actor) sinks.Sink {
	sink, err := foreachbatch.New(foreachbatch.Config{Alloc: a.alloc, Func: func(ctx context.Context, b foreachbatch.Batch) error {
		rows, err := rowsOf(b)
		if err != nil {
			return err
		}
		return a.Do(ctx, "user", "call", b.ID.String(), func() error { return c.called(int64(b.ID), b.Digest.String(), rows) })
	}})
	if err != nil {
		panic(err)
	}
	return sink
}

func (c *callsOutput) newest() (id int64) {
	id = -1
	for called := range c.calls {
		id = max(id, called)
	}
	return id
}

// called checks a call.
func (c *callsOutput) called(id int64, digest string, rows []string) error {
	s := c.s
	slices.Sort(rows)
	now := call{digest, strings.Join(rows, "\n")}
	if was, ok := c.calls[id]; ok {
		if was != now {
			s.violate("batch %d was handed over with other rows, or another digest, than before", id)
		}
		if s.AtMostOnce {
			s.violate("batch %d was handed over twice", id)
		}
		return nil
	}
	text, err := s.entry(id)
	if err != nil {
		s.violate("batch %d was handed over, and offsets/%d: %v", id, id, err)
		return nil
	}
	err = s.follows(id, c.newest())
	c.calls[id] = now
	var e expectation
	if err == nil {
		e, err = s.expected(id, text)
	}
	if err == nil {
		err = sameRows(fmt.Sprintf("batch %d", id), rows, setOf(e.made))
	}
	if err != nil {
		s.violate("%v", err)
	}
	return nil
}

func (*callsOutput) look() error      { return nil }
func (*callsOutput) powerLost() error { return nil }
func (*callsOutput) verdict() error   { return nil }
