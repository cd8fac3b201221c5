package kafka

import "time"

// lane is a partition's share of a range.
type lane struct {
	name     partitionName
	id       topicID
	from, to int64
	lost     int64 // the offsets from `from` to here are known to be gone; 0: none
}

// tape is a partition on its way through a feed: what was fetched and not yet handed out, and where the next fetch begins.
//
//	cut            from of slabs[0] .. to of the last = next            end
//	 | handed out | fetched ................................ | to be fetched
type tape struct {
	name partitionName
	id   topicID

	to   int64 // the end of the range that is being read; what is fetched beyond it is ahead
	cut  int64 // everything before it was handed out
	next int64 // where the next fetch begins
	end  int64 // up to here the broker has something

	slabs  []*slab
	leader leader
	epoch  int32 // the last known of its leaders, under which all that was fetched was served
	lost   int64 // the offsets before it are known to be gone; 0: none
	turn   int64 // when it last got something: who has waited longest is asked for first
	bytes  int32 // to ask for at once
	gen    int   // of the contents: raised when they are dropped, so that an answer under way is recognised as of no use

	asked     bool      // a fetch is under way
	failing   time.Time // of the first of the failures since the last success; zero: none
	pointless time.Time // since when the broker has nothing, though it had announced the range
}

// held is how many bytes lie on the tape, of the range and ahead of it.
func (t *tape) held() (within, ahead int64) {
	for _, sl := range t.slabs {
		if sl.from < t.to {
			within += sl.bytes()
		} else {
			ahead += sl.bytes()
		}
	}
	return within, ahead
}

// drop forgets what was fetched.
func (t *tape) drop() {
	t.slabs, t.next = nil, t.cut
	t.gen++
	t.skip(t.lost)
}

// skip covers offsets before at that are gone.
func (t *tape) skip(at int64) {
	if at = min(at, t.to); at > t.next {
		t.put(&slab{name: t.name, from: t.next, to: at})
	}
}

// follow takes a leader. What another epoch served is forgotten as far as it was not handed out: between two reigns a log may have been cut (K3).
func (t *tape) follow(l leader) {
	if l.epoch > t.epoch || l.epoch < 0 && l.broker != t.leader.broker {
		t.drop()
	}
	t.leader, t.epoch = l, max(t.epoch, l.epoch)
}

// put appends a slab.
func (t *tape) put(sl *slab) {
	t.slabs = append(t.slabs, sl)
	t.next = sl.to
}

// take hands out what there is of the range next; nil: nothing yet.
func (t *tape) take() *slab {
	if len(t.slabs) == 0 || t.cut >= t.to {
		return nil
	}
	sl, end := t.slabs[0], t.to
	if sl.opened != nil { // the batch alone
		end = min(end, sl.opened.whole.to)
	}
	if sl.to > end {
		sl = sl.cut(end)
	} else {
		t.slabs = t.slabs[1:]
	}
	t.cut = sl.to
	return sl
}

func (t *tape) done() bool { return t.cut >= t.to }
