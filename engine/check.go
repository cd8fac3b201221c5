package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/sinks"
)

// Checked is what Check has found out.
type Checked struct {
	ID        ident.QueryID // "" if there is no checkpoint yet
	Input     *arrow.Schema // what the sources yield
	Output    *arrow.Schema // what the sink gets
	Plan      string        // how a start would begin, in words
	Guarantee guarantee.Result
}

// Check does what a start does before it claims the query: everything is opened, checked and compared, and nothing is written, claimed or locked.
// A running driver is not disturbed. It closes the components.
func (q Query) Check(ctx context.Context) (c Checked, err error) {
	q = q.withDefaults()
	defer func() {
		if cerr := q.close(); err == nil {
			err = cerr
		}
	}()
	if err := q.Validate(); err != nil {
		return c, err
	}
	d := newDriver(q)
	if err := d.open(ctx); err != nil {
		return c, err
	}
	c.Input, c.Output = d.local.in, (&execution{local: d.local}).outSchema()
	c.Guarantee = q.Guarantee(ctx)
	if c.ID, err = d.checkpoint.QueryID(ctx); err != nil {
		return c, damaged(err)
	}
	d.info = sinks.QueryInfo{ID: c.ID, Name: q.Name, Shard: q.Shard, NewQuery: q.NewQuery, Newest: d.checkpoint.NewestEpoch}
	if err := d.identify(ctx); err != nil {
		return c, err
	}
	truth, err := d.reconcile(ctx, true)
	if err != nil {
		return c, err
	}
	c.Plan = words(truth.plan)
	return c, d.judge(ctx, truth)
}
