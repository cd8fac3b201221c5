package merge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/internal/errcode"
)

// Rule says which row of a key counts, and what it does. Columns are named as the rows spell them.
type Rule struct {
	Keys *Columns
	// Order decides between rows of one key; nil: the order in which they come does, by the number of their part and then within it.
	Order *Columns
	// First takes the row with the lowest order, else it is the one with the highest. Rows of the same order have to be equal (errcode.TableNoOrder); with First, which
	// takes the rows of one key for copies of one event, the one with the lowest content counts, also without Order.
	First bool
	// Operation is the column whose texts in Deletes take a key out of the table; "": all rows are put in.
	Operation string
	Deletes   []string

	MaxBytes int64 // for keys and orders; 1 GiB (errcode.TableKeysTooMany)
	TempDir  string
	Alloc    memory.Allocator
}

// Batch is a batch of rows with keys. Add may be called by several goroutines; then Resolve by one, and the rest follows. Close frees it.
type Batch struct {
	rule Rule

	mu    sync.Mutex
	index *index
	spool spool
	rows  int64
	ties  map[uint32][]place // by entry: rows whose order is that of the row that counts

	values []values  // of the keys, by column; after Resolve
	counts []counted // the rows that count, in order of their places; after Resolve
}

// counted is a row that counts.
type counted struct {
	place place
	entry uint32
}

// NewBatch begins a batch.
func NewBatch(r Rule) *Batch {
	if r.MaxBytes <= 0 {
		r.MaxBytes = 1 << 30
	}
	if r.Alloc == nil {
		r.Alloc = memory.DefaultAllocator
	}
	return &Batch{rule: r, index: newIndex(), spool: spool{dir: r.TempDir, alloc: r.Alloc, limit: spoolMemory}, ties: map[uint32][]place{}}
}

// Close frees rows and keys.
func (b *Batch) Close() {
	b.spool.close()
	b.index = newIndex()
}

// Add takes the rows of a record, which stays the caller's. Those of one part are added one after the other.
func (b *Batch) Add(part int, rec arrow.RecordBatch) error {
	if rec.NumRows() == 0 {
		return nil
	}
	keys, err := b.rule.Keys.encoder(rec)
	if err != nil {
		return err
	}
	order, err := b.rule.order(rec)
	if err != nil {
		return err
	}
	deletes, err := b.rule.deletes(rec)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	number, err := b.spool.add(rec)
	if err != nil {
		return err
	}
	b.rows += rec.NumRows()
	var key, at []byte
	for row := range int(rec.NumRows()) {
		p := place{number, uint32(row)}
		key, at = keys(key[:0], row), order(at[:0], row)
		if b.rule.byArrival() {
			at = appendArrival(at, part, p)
		}
		b.take(key, at, p, deletes(row))
	}
	if size := b.index.size(); size > b.rule.MaxBytes || len(b.index.bytes) > maxIndexBytes {
		return errcode.TableKeysTooMany.New("", "the keys of %d rows take %d MiB", b.rows, size>>20)
	}
	return nil
}

// byArrival reports whether rows of one key are told apart by the order in which they come.
func (r *Rule) byArrival() bool { return r.Order == nil && !r.First }

func (r *Rule) order(rec arrow.RecordBatch) (encoder, error) {
	if r.Order == nil {
		return func(dst []byte, _ int) []byte { return dst }, nil
	}
	return r.Order.encoder(rec)
}

// appendArrival puts rows of one part in the order of their records, whose numbers rise.
func appendArrival(dst []byte, part int, p place) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(part))
	dst = binary.BigEndian.AppendUint32(dst, p.record)
	return binary.BigEndian.AppendUint32(dst, p.row)
}

// maxIndexBytes is what spans can address, with room for a record.
const maxIndexBytes = 3 << 30

// take lets a row count for its key if its order says so.
func (b *Batch) take(key, order []byte, at place, deletes bool) {
	x := b.index
	n := x.find(key)
	if n < 0 {
		n = x.add(key)
		e := &x.entries[n]
		e.order, e.place, e.deletes = x.keep(order), at, deletes
		return
	}
	e := &x.entries[n]
	switch c := bytes.Compare(order, x.of(e.order)); {
	case c == 0:
		if b.ties[uint32(n)] == nil {
			b.ties[uint32(n)] = []place{e.place}
		}
		b.ties[uint32(n)] = append(b.ties[uint32(n)], at)
	case (c > 0) != b.rule.First:
		delete(b.ties, uint32(n))
		e.order, e.place, e.deletes = x.replace(e.order, order), at, deletes
	}
}

// Rows is how many rows the batch has, and Keys how many different keys.
func (b *Batch) Rows() int64 { return b.rows }

// Keys is how many different keys the batch has.
func (b *Batch) Keys() int64 { return int64(len(b.index.entries)) }

// Resolve decides between rows that no order tells apart, and prepares the keys for Target.
func (b *Batch) Resolve(ctx context.Context) error {
	if err := b.resolveTies(ctx); err != nil {
		return err
	}
	b.counts = make([]counted, len(b.index.entries))
	for i := range b.index.entries {
		b.counts[i] = counted{b.index.entries[i].place, uint32(i)}
	}
	slices.SortFunc(b.counts, func(x, y counted) int { return x.place.compare(y.place) })
	b.values = valuesOf(b.index, b.rule.Keys)
	return nil
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.record, q.record), cmp.Compare(p.row, q.row))
}

// resolveTies compares the contents of rows of one key and order.
func (b *Batch) resolveTies(ctx context.Context) error {
	if len(b.ties) == 0 {
		return nil
	}
	var tied []counted
	for n, places := range b.ties {
		for _, p := range places {
			tied = append(tied, counted{p, n})
		}
	}
	slices.SortFunc(tied, func(x, y counted) int { return x.place.compare(y.place) })
	best := map[uint32][]byte{} // by entry
	return b.spool.each(ctx, func(number uint32, rec arrow.RecordBatch) error {
		deletes, err := b.rule.deletes(rec)
		if err != nil {
			return err
		}
		for ; len(tied) > 0 && tied[0].place.record == number; tied = tied[1:] {
			content, err := appendRow(nil, rec, int(tied[0].place.row))
			if err != nil {
				return err
			}
			e := &b.index.entries[tied[0].entry]
			was, seen := best[tied[0].entry]
			switch c := bytes.Compare(content, was); {
			case seen && c != 0 && !b.rule.First:
				return b.ambiguous(e)
			case !seen || c < 0:
				best[tied[0].entry] = content
				e.place, e.deletes = tied[0].place, deletes(int(tied[0].place.row))
			}
		}
		return nil
	})
}

func (b *Batch) ambiguous(e *entry) error {
	return errcode.TableNoOrder.New("", "rows of the key %s differ and are equal in %s", b.rule.Keys.text(b.index.of(e.key)), strings.Join(b.rule.Order.Names(), ", "))
}

// Result counts what the rows that count do. It is right when the files of the table were rewritten, or looked through.
type Result struct {
	Inserted int64 // keys that the table did not have
	Updated  int64 // keys that it had
	TakenOut int64 // keys that it had, and that are to be deleted
	Absent   int64 // keys that it did not have, and that are to be deleted
	Deleted  int64 // rows of the table that nothing came in the place of: those of TakenOut, and those of Updated beyond the first of each key
}

// Result counts.
func (b *Batch) Result() (r Result) {
	for i := range b.index.entries {
		e := &b.index.entries[i]
		found := int64(e.found.Load())
		switch {
		case e.deletes && found == 0:
			r.Absent++
		case e.deletes:
			r.TakenOut++
			r.Deleted += found
		case found > 0:
			r.Updated++
			r.Deleted += found - 1 // the table had the key more than once
		default:
			r.Inserted++
		}
	}
	return r
}

// Upserts shows the rows that are put into the table, record by record. The receiver does not keep the records.
func (b *Batch) Upserts(ctx context.Context, show func(arrow.RecordBatch) error) error {
	return b.show(ctx, func(e *entry) bool { return !e.deletes }, show)
}

// Unknown shows the rows whose keys the table does not have, record by record, after the files that may have them were looked through. The receiver does not keep the
// records.
func (b *Batch) Unknown(ctx context.Context, show func(arrow.RecordBatch) error) error {
	return b.show(ctx, func(e *entry) bool { return e.found.Load() == 0 }, show)
}

func (b *Batch) show(ctx context.Context, which func(*entry) bool, show func(arrow.RecordBatch) error) error {
	left := b.counts
	return b.spool.each(ctx, func(number uint32, rec arrow.RecordBatch) error {
		var rows []int32
		for ; len(left) > 0 && left[0].place.record == number; left = left[1:] {
			if which(&b.index.entries[left[0].entry]) {
				rows = append(rows, int32(left[0].place.row))
			}
		}
		if len(rows) == 0 {
			return nil
		}
		some, err := b.rule.without(ctx, rec, rows)
		if err != nil {
			return err
		}
		defer some.Release()
		return show(some)
	})
}
