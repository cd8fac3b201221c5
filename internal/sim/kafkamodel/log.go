package kafkamodel

import (
	"math"
	"slices"
)

// log is the records of one partition.
//
//	begin .. batches, with holes between them .. stable: of the earliest open transaction .. end: the next offset
type log struct {
	begin, end int64
	batches    []*stored
	txns       []transaction // in the order in which they began here
	reigns     []reign
}

// transaction is a producer's transaction in one partition.
type transaction struct {
	producer int64
	first    int64
	marker   int64 // its offset; open: none yet
	aborted  bool
}

const open = math.MaxInt64

// reign is a leader epoch, and where the log stood when it began.
type reign struct {
	epoch int32
	start int64
}

func (l *log) epoch() int32 { return l.reigns[len(l.reigns)-1].epoch }

// reign begins an epoch. One in which nothing was written is forgotten.
func (l *log) reign(epoch int32) {
	l.reigns = slices.DeleteFunc(l.reigns, func(r reign) bool { return r.start >= l.end })
	l.reigns = append(l.reigns, reign{epoch, l.end})
}

// stable is the last stable offset: all before it is decided.
func (l *log) stable() int64 {
	at := l.end
	for _, t := range l.txns {
		if t.marker == open {
			at = min(at, t.first)
		}
	}
	return at
}

// limit is the end as an isolation sees it.
func (l *log) limit(committed bool) int64 {
	if committed {
		return l.stable()
	}
	return l.end
}

// append gives a batch the next offsets.
func (l *log) append(b *stored) (first int64) {
	b.base, b.epoch = l.end, l.epoch()
	for i := range b.records {
		b.records[i].Offset = b.base + int64(i)
	}
	b.last = b.base + int64(len(b.records)) - 1
	b.encode()
	l.batches = append(l.batches, b)
	l.end = b.last + 1
	if b.transactional && !b.control && l.openOf(b.producer) == nil {
		l.txns = append(l.txns, transaction{producer: b.producer, first: b.base, marker: open})
	}
	return b.base
}

// mark ends a producer's transaction.
func (l *log) mark(b *stored) {
	t := l.openOf(b.producer)
	if t == nil {
		return // what it had was truncated
	}
	t.marker, t.aborted = l.append(b), !b.commit
}

func (l *log) openOf(producer int64) *transaction {
	for i := range l.txns {
		if t := &l.txns[i]; t.producer == producer && t.marker == open {
			return t
		}
	}
	return nil
}

// of is the transaction that a batch belongs to, or belonged to; nil: none.
func (l *log) of(b *stored) *transaction {
	for i := range l.txns {
		if t := &l.txns[i]; b.transactional && t.producer == b.producer && t.first <= b.base && b.base <= t.marker {
			return t
		}
	}
	return nil
}

// aborted are the aborted transactions that have something in [from, to), in the order in which they ended, as brokers list them.
func (l *log) aborted(from, to int64) []transaction {
	var list []transaction
	for _, t := range l.txns {
		if t.aborted && t.first < to && t.marker >= from {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b transaction) int { return int(a.marker - b.marker) })
	return list
}

func (l *log) retain(before int64) {
	l.begin = max(l.begin, min(before, l.end))
	l.batches = slices.DeleteFunc(l.batches, func(b *stored) bool { return b.last < l.begin })
}

func (l *log) truncate(at int64) {
	for i, b := range l.batches {
		if b.last >= at {
			at = min(at, b.base) // a replica has whole batches
			l.batches = l.batches[:i]
			break
		}
	}
	l.end = max(l.begin, min(l.end, at))
	l.txns = slices.DeleteFunc(l.txns, func(t transaction) bool { return t.first >= l.end })
	for i := range l.txns {
		if t := &l.txns[i]; t.marker >= l.end {
			t.marker, t.aborted = open, false
		}
	}
}

// endOf is where an epoch's records end, with the epoch that is meant: the nearest before it that wrote anything (KIP-101).
func (l *log) endOf(epoch int32) (found int32, end int64) {
	if epoch == l.epoch() {
		return epoch, l.end
	}
	next := slices.IndexFunc(l.reigns, func(r reign) bool { return r.epoch > epoch })
	switch {
	case next < 0:
		return -1, -1
	case next == 0:
		return epoch, l.reigns[0].start
	}
	return l.reigns[next-1].epoch, l.reigns[next].start
}

// epochAt is the epoch in which an offset was written.
func (l *log) epochAt(offset int64) int32 {
	epoch := l.reigns[0].epoch
	for _, r := range l.reigns {
		if r.start <= offset {
			epoch = r.epoch
		}
	}
	return epoch
}

// at is the first record at or after a time, in milliseconds.
func (l *log) at(time int64) (Record, bool) {
	for _, b := range l.batches {
		for _, r := range b.records {
			if !b.control && r.Offset >= l.begin && r.Time.UnixMilli() >= time {
				return r, true
			}
		}
	}
	return Record{}, false
}
