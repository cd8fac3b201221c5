package kafka

import (
	"context"
	"errors"
	"slices"
	"sync"

	"microbatch/internal/errcode"
)

// feed fetches the partitions of a range, and ahead of it, and hands out slabs. It has one fetcher for each leader, from newFeed to close.
type feed struct {
	source *Source
	cancel context.CancelFunc

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced whenever something has
	tapes    []*tape       // in the order in which they are handed out; rotated
	turns    int64
	fetchers map[int32]bool
	ranges   int   // how many ranges it was extended to; takers of a former one have had all of theirs
	err      error // final
	closed   bool
}

// newFeed begins to fetch lanes at once.
func newFeed(s *Source, lanes []lane, c cluster) *feed {
	ctx, cancel := context.WithCancel(context.Background())
	f := &feed{source: s, cancel: cancel, changed: make(chan struct{}), fetchers: map[int32]bool{}}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range lanes {
		f.add(l)
	}
	f.assign(ctx, c)
	return f
}

func (f *feed) add(l lane) *tape {
	t := &tape{name: l.name, id: l.id, to: l.to, cut: l.from, next: l.from, end: l.to, lost: l.lost, leader: leader{-1, -1}, epoch: -1, turn: f.turn()}
	t.bytes = f.source.config.FetchBytes
	t.skip(l.lost)
	f.tapes = append(f.tapes, t)
	return t
}

// turn is the next number in the order in which tapes got something.
func (f *feed) turn() int64 {
	f.turns++
	return f.turns
}

// assign gives each tape its leader's fetcher. A tape without a leader gets the fetcher of broker -1, which only looks for one.
func (f *feed) assign(ctx context.Context, c cluster) {
	for _, t := range f.tapes {
		l, ok := c.leaders.get(t.name.topic, t.name.partition)
		if !ok {
			l = leader{-1, -1}
		}
		t.follow(l)
		if !f.fetchers[l.broker] {
			f.fetchers[l.broker] = true
			f.source.feeds.fetchers.Go(func() { f.fetch(ctx, l.broker) })
		}
	}
	f.signal()
}

// signal wakes everybody who waits for a change. Called with the lock.
func (f *feed) signal() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// wait gives up the lock until something has changed.
func (f *feed) wait(ctx context.Context) error {
	changed := f.changed
	f.mu.Unlock()
	defer f.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// take waits for the next slab of a range, of whichever partition; nil: all of them were handed out.
func (f *feed) take(ctx context.Context, number int) (*slab, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		switch {
		case f.ranges != number || f.done():
			return nil, nil
		case f.err != nil:
			return nil, f.err
		case f.closed:
			return nil, errClosed
		}
		for i, t := range f.tapes {
			if sl := t.take(); sl != nil {
				f.tapes = append(slices.Delete(f.tapes, i, i+1), t)
				f.signal() // there is room again
				return sl, nil
			}
		}
		if err := f.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// fail ends the feed with an error.
func (f *feed) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
	f.signal()
}

// close ends the fetchers, without waiting for them, and forgets what they have fetched. What was handed out remains known: see remaining.
func (f *feed) close() {
	f.cancel()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for _, t := range f.tapes {
		t.drop()
	}
	f.signal()
}

// remaining is what was not handed out of the range, and the leaders under whom it was read so far.
func (f *feed) remaining() ([]lane, cluster) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lanes []lane
	c := cluster{leaders: byPartition[leader]{}}
	for _, t := range f.tapes {
		if !t.done() {
			lanes = append(lanes, lane{name: t.name, id: t.id, from: t.cut, to: t.to, lost: t.lost})
			c.leaders.set(t.name.topic, t.name.partition, leader{t.leader.broker, t.epoch})
		}
	}
	return lanes, c
}

// continues extends a feed that has handed out all of its range to the range that follows, if the lanes are that; what was fetched ahead is then there.
func (f *feed) continues(lanes []lane, c cluster) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.err != nil || !f.done() {
		return false
	}
	known := map[partitionName]*tape{}
	for _, t := range f.tapes {
		known[t.name] = t
	}
	for _, l := range lanes {
		t := known[l.name]
		leader, _ := c.leaders.get(l.name.topic, l.name.partition)
		if !f.fetchers[leader.broker] || t != nil && (t.cut != l.from || t.id != l.id) {
			return false
		}
	}
	for _, l := range lanes {
		t := known[l.name]
		if t == nil {
			t = f.add(l)
		}
		t.follow(c.leaders[l.name.topic][l.name.partition])
		t.to, t.end, t.lost = l.to, max(t.end, l.to), l.lost
		if l.lost > 0 {
			t.drop()
		}
	}
	f.ranges++
	f.signal()
	return true
}

// feeds are the feeds that are kept warm: that of the range being read, and that of a former or a next one.
type feeds struct {
	mu       sync.Mutex
	warm     []*feed // the newest last
	closed   bool
	fetchers sync.WaitGroup
}

const mostWarm = 2

var errClosed = errors.New("kafka: the feed was closed")

// get is a feed for lanes: one that continues there, or a new one. Feeds that have nothing left to hand out make room.
func (fs *feeds) get(s *Source, lanes []lane, c cluster) (f *feed, number int, err error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.closed {
		return nil, 0, errClosed
	}
	var chosen *feed
	fs.warm = slices.DeleteFunc(fs.warm, func(f *feed) bool {
		if chosen == nil && f.continues(lanes, c) {
			chosen = f
			return false
		}
		return f.retire()
	})
	if chosen == nil {
		chosen = fs.add(newFeed(s, lanes, c))
	}
	return chosen, chosen.ranges, nil
}

// rewarm is a new feed for what a run that lost its feed has not got yet, unless the source is closed.
func (fs *feeds) rewarm(s *Source, old *feed) (*feed, error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.closed {
		return nil, errClosed
	}
	lanes, c := old.remaining()
	return fs.add(newFeed(s, lanes, c)), nil
}

func (fs *feeds) add(f *feed) *feed {
	fs.warm = append(fs.warm, f)
	for len(fs.warm) > mostWarm {
		fs.warm[0].close()
		fs.warm = fs.warm[1:]
	}
	return f
}

// retire closes a feed that failed or has handed out all of its range.
func (f *feed) retire() bool {
	f.mu.Lock()
	over := f.err != nil || f.done()
	f.mu.Unlock()
	if over {
		f.close()
	}
	return over
}

// done reports that all of the range was handed out. Called with the lock.
func (f *feed) done() bool {
	return !slices.ContainsFunc(f.tapes, func(t *tape) bool { return !t.done() })
}

// close waits for the fetchers, whose requests end with their feeds; whoever comes meanwhile is turned away, and need not wait for them.
func (fs *feeds) close() {
	fs.mu.Lock()
	for _, f := range fs.warm {
		f.close()
	}
	fs.warm, fs.closed = nil, true
	fs.mu.Unlock()
	fs.fetchers.Wait()
}

// vanished is the error for a partition that a range names and the cluster does not.
func vanished(name partitionName) error {
	return errcode.KafkaPartitionVanished.New(name.String(), "the cluster's metadata do not list the partition")
}
