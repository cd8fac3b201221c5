package checkpointlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"microbatch/objstore"
)

// CompactLog is a numbered log that now and then rewrites everything before into one file, in the layout of Spark's CompactibleFileStreamLog:
//
//	<id>            v1 LF line LF line ...        the lines of id
//	<id>.compact    v1 LF line LF line ...        the lines of 0..id; id+1 is a multiple of the interval
//
// Lines are opaque here (JSON objects without line ends) and are not kept in memory. It is used by one goroutine, except for Read.
type CompactLog struct {
	store    objstore.Store
	interval int64
	last     int64 // the newest id; -1 if empty
	compact  int64 // the newest compact file that was not purged behind; -1 if none
}

// compactKept is how many entries stay behind the newest compact file, for readers that have listed before.
const compactKept = 10

// OpenCompact reads the log that stands in the root of the store and hands each line to each, oldest first; each does not keep it.
// interval is how often a new log is compacted (Spark: 10); an existing log keeps its own.
func OpenCompact(ctx context.Context, store objstore.Store, interval int64, each func(line []byte) error) (*CompactLog, error) {
	l := &CompactLog{store: store, interval: interval, last: -1, compact: -1}
	ids, compacts, err := l.list(ctx)
	if err != nil {
		return nil, err
	}
	if n := len(compacts); n > 0 {
		newest := compacts[n-1]
		if err := l.each(ctx, compactName(newest), each); err != nil {
			return nil, err
		}
		l.last, l.compact, l.interval = newest, newest, intervalOf(compacts, interval)
	}
	for _, id := range ids {
		if id <= l.last {
			continue
		}
		if id != l.last+1 {
			return nil, fmt.Errorf("log %s: entry %d is missing before %d", store.URL(), l.last+1, id)
		}
		if err := l.each(ctx, strconv.FormatInt(id, 10), each); err != nil {
			return nil, err
		}
		l.last = id
	}
	return l, nil
}

// intervalOf finds the interval that the compact files were written at. A single one leaves a choice: like Spark, the smallest divisor
// of its position that is not below the wish.
func intervalOf(compacts []int64, wish int64) int64 {
	newest := compacts[len(compacts)-1]
	if len(compacts) > 1 {
		return newest - compacts[len(compacts)-2]
	}
	best := newest + 1
	for d := int64(1); d*d <= newest+1 && d <= 1<<20; d++ { // a name of nineteen digits must not cost hours
		if (newest+1)%d != 0 {
			continue
		}
		for _, divisor := range []int64{d, (newest + 1) / d} {
			if divisor >= wish && divisor < best {
				best = divisor
			}
		}
	}
	return best
}

// Last is the newest id, -1 if the log is empty.
func (l *CompactLog) Last() int64 { return l.last }

// Behind reports whether another process has made entries since the log was read.
func (l *CompactLog) Behind(ctx context.Context) (bool, error) {
	ids, compacts, err := l.list(ctx)
	if err != nil {
		return false, err
	}
	newest := slices.Max(append(append(ids, compacts...), -1))
	return newest != l.last, nil
}

// Append creates the next entry, durably. fs.ErrExist: another process writes this log; it is opened again to go on.
func (l *CompactLog) Append(ctx context.Context, lines [][]byte) (id int64, err error) {
	id = l.last + 1
	name, data := l.nameOf(id), []byte("v1")
	if l.compacts(id) {
		if data, err = l.before(ctx, id); err != nil {
			return id, err
		}
	}
	for _, line := range lines {
		data = append(append(data, '\n'), line...)
	}
	if err := l.store.PutIfAbsent(ctx, name, data); err != nil {
		return id, fmt.Errorf("log %s: entry %s: %w", l.store.URL(), name, err)
	}
	l.last = id
	if l.compacts(id) {
		l.compact = id
	}
	return id, nil
}

// before is the content of a compact file of everything before id.
func (l *CompactLog) before(ctx context.Context, id int64) ([]byte, error) {
	_, compacts, err := l.list(ctx)
	if err != nil {
		return nil, err
	}
	data, next := []byte("v1"), int64(0)
	for _, n := range compacts {
		if n < id {
			next = n + 1
		}
	}
	if next > 0 {
		body, err := l.body(ctx, compactName(next-1))
		if err != nil {
			return nil, err
		}
		data = append(data, body...)
	}
	for ; next < id; next++ {
		body, err := l.body(ctx, strconv.FormatInt(next, 10))
		if err != nil {
			return nil, err
		}
		data = append(data, body...)
	}
	return data, nil
}

// Read hands the lines of entry id to each. If the file of id was purged it hands over all lines of the compact file that covers it: the caller
// must know the lines of id by their content. fs.ErrNotExist: there is neither.
func (l *CompactLog) Read(ctx context.Context, id int64, each func(line []byte) error) error {
	err := l.each(ctx, strconv.FormatInt(id, 10), each)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, compacts, listErr := l.list(ctx)
	if listErr != nil {
		return listErr
	}
	if i, _ := slices.BinarySearch(compacts, id); i < len(compacts) {
		return l.each(ctx, compactName(compacts[i]), each)
	}
	return err
}

// Sync makes the newest entry durable, which another process may have linked without finishing.
func (l *CompactLog) Sync(ctx context.Context) error {
	if l.last < 0 {
		return nil
	}
	name := strconv.FormatInt(l.last, 10)
	if l.compact == l.last {
		name = compactName(l.last)
	}
	if err := l.store.Sync(ctx, name); err != nil {
		return fmt.Errorf("log %s: sync %s: %w", l.store.URL(), name, err)
	}
	return nil
}

// Purge deletes what the newest compact file covers, except the last few entries before it.
func (l *CompactLog) Purge(ctx context.Context) error {
	ids, compacts, err := l.list(ctx)
	if err != nil || len(compacts) == 0 {
		return err
	}
	newest := compacts[len(compacts)-1]
	var old []string
	for _, n := range ids {
		if n <= newest-compactKept {
			old = append(old, strconv.FormatInt(n, 10))
		}
	}
	for _, n := range compacts {
		if n <= newest-compactKept-l.interval {
			old = append(old, compactName(n))
		}
	}
	for _, name := range old {
		if err := l.store.Delete(ctx, name); err != nil {
			return fmt.Errorf("log %s: purge %s: %w", l.store.URL(), name, err)
		}
	}
	return nil
}

func (l *CompactLog) list(ctx context.Context) (ids, compacts []int64, err error) {
	for info, err := range l.store.List(ctx, "", "") {
		if err != nil {
			return nil, nil, fmt.Errorf("log %s: list: %w", l.store.URL(), err)
		}
		name, compact := strings.CutSuffix(info.Key, ".compact")
		id, ok := parseName(name)
		switch {
		case !ok:
		case compact:
			compacts = append(compacts, int64(id))
		default:
			ids = append(ids, int64(id))
		}
	}
	slices.Sort(ids)
	slices.Sort(compacts)
	return ids, compacts, nil
}

// each hands the lines of a file to fn.
func (l *CompactLog) each(ctx context.Context, name string, fn func(line []byte) error) error {
	body, err := l.body(ctx, name)
	if err != nil || len(body) == 0 {
		return err
	}
	for line := range bytes.SplitSeq(body[1:], []byte("\n")) {
		if err := fn(line); err != nil {
			return fmt.Errorf("log %s: entry %s: %w", l.store.URL(), name, err)
		}
	}
	return nil
}

// body is a file after its first line: empty, or beginning with a line end.
func (l *CompactLog) body(ctx context.Context, name string) ([]byte, error) {
	data, err := l.store.Get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("log %s: entry %s: %w", l.store.URL(), name, err)
	}
	body, ok := bytes.CutPrefix(data, []byte("v1"))
	if !ok || len(body) > 0 && body[0] != '\n' {
		version, _, _ := bytes.Cut(data, []byte("\n"))
		return nil, fmt.Errorf("log %s: entry %s: version %.20q: want v1", l.store.URL(), name, version)
	}
	return body, nil
}

func (l *CompactLog) compacts(id int64) bool { return (id+1)%l.interval == 0 }

func (l *CompactLog) nameOf(id int64) string {
	if l.compacts(id) {
		return compactName(id)
	}
	return strconv.FormatInt(id, 10)
}

func compactName(id int64) string { return fmt.Sprintf("%d.compact", id) }
