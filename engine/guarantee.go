package engine

import (
	"context"
	"fmt"

	"microbatch/guarantee"
)

// Guarantee computes what the query promises from end to end, from what its components say of themselves. Nothing is opened: before Check or Run it is what the
// configuration alone tells.
func (q Query) Guarantee(ctx context.Context) guarantee.Result {
	c := guarantee.Chain{
		AtMostOnce: q.Delivery == AtMostOnce, Every: q.Trigger.Every, Once: q.Trigger.Once, BatchTimeout: q.BatchTimeout, DropsRows: q.OnError == DropRows,
	}
	add := func(part string, l guarantee.Link) {
		l.Part = part
		c.Links = append(c.Links, l)
	}
	for n, s := range q.Sources {
		add(numbered("source", n, len(q.Sources)), s.Guarantee(ctx))
	}
	for n, op := range q.Transforms {
		add(numbered("transform", n, len(q.Transforms)), op.Guarantee())
	}
	add("batches", q.batches())
	if q.Rejected != nil && q.OnError == RejectRows {
		add("rejected rows", q.Rejected.Guarantee())
	}
	add("sink", q.Sink.Guarantee())
	return guarantee.Compute(c)
}

// batches is the link that the engine itself is.
func (q Query) batches() guarantee.Link {
	if q.Delivery == AtMostOnce {
		return guarantee.Link{
			Name: "recording before committing (delivery: at_most_once)", Level: guarantee.AtMostOnce,
			Reason: "a batch is recorded before its rows are committed, and one that is recorded never runs again: a crash in between loses its rows",
			Remedy: "delivery: exactly_once commits the rows first",
		}
	}
	return guarantee.Link{
		Name:   "the checkpoint",
		Reason: "a batch's range is written down before it is read, and a batch that was not recorded runs again with the same range",
	}
}

// numbered is a part's name, with its number from 1 if there are more of its kind.
func numbered(part string, n, of int) string {
	if of == 1 {
		return part
	}
	return fmt.Sprintf("%s %d", part, n+1)
}
