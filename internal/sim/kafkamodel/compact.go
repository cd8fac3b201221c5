package kafkamodel

import "slices"

// newest keeps the last record of each key among the visible ones.
func (l *log) newest() func(Record) bool {
	last := map[string]int64{}
	for _, r := range l.visible() {
		if r.Key != nil {
			last[string(r.Key)] = r.Offset
		}
	}
	return func(r Record) bool { return r.Key == nil || last[string(r.Key)] == r.Offset }
}

func (l *log) compact(keep func(Record) bool, markers bool) {
	stable := l.stable()
	for _, b := range l.batches {
		if b.control || b.base >= stable {
			continue
		}
		t, before := l.of(b), len(b.records)
		b.records = slices.DeleteFunc(b.records, func(r Record) bool { return r.Offset < stable && (t != nil && t.aborted || !keep(r)) })
		if n := len(b.records); n > 0 && n < before {
			b.encode()
		}
	}
	l.batches = slices.DeleteFunc(l.batches, func(b *stored) bool { return len(b.records) == 0 })
	if markers {
		l.batches = slices.DeleteFunc(l.batches, func(b *stored) bool { return b.control && b.base < stable && l.needless(b) })
	}
}

// needless reports that no record is left of the transaction that a marker ends.
func (l *log) needless(marker *stored) bool {
	t := l.of(marker)
	return t == nil || !slices.ContainsFunc(l.batches, func(b *stored) bool { return !b.control && l.of(b) == t })
}

// visible are the records that a reader sees under read_committed.
func (l *log) visible() []Record {
	var records []Record
	stable := l.stable()
	for _, b := range l.batches {
		if t := l.of(b); b.control || b.base >= stable || t != nil && t.aborted {
			continue
		}
		for _, r := range b.records {
			if r.Offset >= l.begin {
				records = append(records, r)
			}
		}
	}
	return records
}
