package engine

import (
	"context"

	"microbatch/ident"
	"microbatch/internal/bugs"
)

// What must not be done stands here: only seeded bugs come this way (internal/bugs), and no usual build has them.

// replan gives a batch that is fixed another range than its entry says.
func (d *driver) replan() {
	for n, s := range d.q.Sources {
		if p, err := s.Plan(context.Background(), d.current.ranges[n].From, d.q.Limit); err == nil {
			d.current.ranges[n].To, d.current.ranges[n].Aux = p.To, p.Aux
		}
	}
}

// whatever is the range that was read ahead of source i, in place of the one that is asked for.
func (n *prefetched) whatever(i int) ident.Range {
	<-n.ready
	return ident.Range{From: n.from[i], To: n.plans[i].To}
}

// tooEarly does before any commit what belongs behind it.
func (d *driver) tooEarly(ctx context.Context) error {
	switch {
	case bugs.Is(bugs.RejectedLate): // the sink's own commit then finds the batch visible
		_, err := d.commitTo(ctx, d.q.Sink, d.current.staged.Sink)
		return err
	case bugs.Is(bugs.RecordFirst):
		return d.putCommits(ctx)
	case bugs.Is(bugs.ProgressFirst):
		tell(d.q.Listener.Progress, d.progress())
	case bugs.Is(bugs.ReleaseFirst):
		for n, s := range d.q.Sources {
			if err := s.Release(ctx, d.current.ranges[n].To); err != nil {
				return err
			}
		}
	}
	return nil
}
