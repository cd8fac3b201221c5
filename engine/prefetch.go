package engine

import (
	"context"
	"sync"

	"microbatch/batch"
	"microbatch/ident"
	"microbatch/internal/bugs"
	"microbatch/sources"
)

// prefetchDepth is how many chunks of each split are decoded ahead.
const prefetchDepth = 2

// prefetcher plans the next range and decodes its first chunks while this batch commits. Nothing of it is durable, and it decides nothing: the
// range becomes a batch by its own intend, and is dropped if the driver plans from another offset.
type prefetcher struct {
	mu   sync.Mutex
	next *prefetched
}

// prefetched is the range ahead, of all sources.
type prefetched struct {
	from   []ident.Offset
	plans  []sources.Planned
	splits [][]sources.Split
	cancel context.CancelFunc
	ready  chan struct{}
	err    error
}

// start begins to prefetch what follows the given ends.
func (p *prefetcher) start(ctx context.Context, l *local, from []ident.Offset) {
	p.drop()
	ctx, cancel := context.WithCancel(ctx)
	n := &prefetched{from: from, cancel: cancel, ready: make(chan struct{})}
	p.mu.Lock()
	p.next = n
	p.mu.Unlock()
	go func() {
		defer close(n.ready)
		n.err = n.run(ctx, l)
	}()
}

func (n *prefetched) run(ctx context.Context, l *local) error {
	plans, rows, err := planAll(ctx, l.q, n.from)
	if err != nil {
		return err
	}
	n.plans = plans
	for i, s := range l.q.Sources {
		var splits []sources.Split
		if plans[i].To != n.from[i] {
			if splits, err = s.Splits(ctx, n.from[i], plans[i].To, plans[i].Aux, l.want(rows)); err != nil {
				return err
			}
		}
		for j, split := range splits {
			splits[j] = readAhead(ctx, split)
		}
		n.splits = append(n.splits, splits)
	}
	return nil
}

// plan returns the prefetched plan if it starts at from. It waits for one that is under way, unless ctx ends.
func (p *prefetcher) plan(ctx context.Context, from []ident.Offset) ([]sources.Planned, bool) {
	p.mu.Lock()
	n := p.next
	p.mu.Unlock()
	if n == nil {
		return nil, false
	}
	select {
	case <-n.ready:
	case <-ctx.Done():
		p.drop()
		return nil, false
	}
	if n.err != nil || !equal(n.from, from) {
		p.drop()
		return nil, false
	}
	return n.plans, true
}

// take hands over the splits of source i, once, if they are those of the range; else nil.
func (p *prefetcher) take(i int, r ident.Range) []sources.Split {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.next
	if n == nil {
		return nil
	}
	if bugs.Is(bugs.AheadIsAnyRange) {
		r = n.whatever(i)
	}
	if n.from[i] != r.From || n.plans[i].To != r.To || n.splits[i] == nil {
		return nil
	}
	splits := n.splits[i]
	n.splits[i] = nil
	return splits
}

// drop ends the read-ahead and frees what was not taken.
func (p *prefetcher) drop() {
	p.mu.Lock()
	n := p.next
	p.next = nil
	p.mu.Unlock()
	if n == nil {
		return
	}
	n.cancel()
	<-n.ready
	for _, splits := range n.splits {
		for _, s := range splits {
			s.(*ahead).discard()
		}
	}
}

func equal(a, b []ident.Offset) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

// ahead is a split whose first chunks are decoded before they are asked for.
type ahead struct {
	sources.Split
	items  chan item
	cancel context.CancelFunc
}

type item struct {
	chunk batch.Chunk
	err   error
}

func readAhead(ctx context.Context, s sources.Split) *ahead {
	ctx, cancel := context.WithCancel(ctx)
	a := &ahead{Split: s, items: make(chan item, prefetchDepth), cancel: cancel}
	go func() {
		defer close(a.items)
		for c, err := range recovered(s.Records(ctx)) {
			select {
			case a.items <- item{c, err}:
			case <-ctx.Done():
				c.Release()
				return
			}
		}
	}()
	return a
}

// Records yields what was read ahead and then the rest. The split's own context ends with the one given here.
func (a *ahead) Records(ctx context.Context) batch.Stream {
	return func(yield func(batch.Chunk, error) bool) {
		defer a.discard()
		stop := context.AfterFunc(ctx, a.cancel)
		defer stop()
		for it := range a.items {
			if !yield(it.chunk, it.err) || it.err != nil {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(batch.Chunk{}, err)
		}
	}
}

// discard ends the goroutine and frees what it has read.
func (a *ahead) discard() {
	a.cancel()
	for it := range a.items {
		it.chunk.Release()
	}
}
