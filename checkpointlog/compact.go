package checkpointlog

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"microbatch/objstore"
)

// CompactLog is a numbered log that now and then rewrites everything before into one file, in the layout of Spark's CompactibleFileStreamLog:
//
//	<id>            v1 LF line LF line ...        the lines of id
//	<id>.compact    v1 LF line LF line ...        the lines of 0..id; id+1 is a multiple of the interval
//
// Lines are opaque here (JSON objects without line ends). It is used by one goroutine.
type CompactLog struct {
	store    objstore.Store
	interval int64
	last     int64 // the newest id; -1 if empty
	lines    [][]byte
}

// compactKept is how many entries stay behind the newest compact file, for readers that have listed before.
const compactKept = 10

// OpenCompact reads the log that stands in the root of the store. interval is how often a new log is compacted (Spark: 10); an existing log keeps its own.
func OpenCompact(ctx context.Context, store objstore.Store, interval int64) (*CompactLog, error) {
	l := &CompactLog{store: store, interval: interval, last: -1}
	ids, compacts, err := l.list(ctx)
	if err != nil {
		return nil, err
	}
	start := int64(0)
	if n := len(compacts); n > 0 {
		newest := compacts[n-1]
		if l.lines, err = l.read(ctx, compactName(newest)); err != nil {
			return nil, err
		}
		l.last, start = newest, newest+1
		l.interval = newest + 1
		if n > 1 {
			l.interval = newest - compacts[n-2]
		}
	}
	for _, id := range ids {
		if id < start {
			continue
		}
		if id != l.last+1 {
			return nil, fmt.Errorf("log %s: entry %d is missing before %d", store.URL(), l.last+1, id)
		}
		lines, err := l.read(ctx, fmt.Sprint(id))
		if err != nil {
			return nil, err
		}
		l.lines, l.last = append(l.lines, lines...), id
	}
	return l, nil
}

// Last is the newest id, -1 if the log is empty.
func (l *CompactLog) Last() int64 { return l.last }

// Lines are all lines of the log, oldest first. The caller does not change them.
func (l *CompactLog) Lines() [][]byte { return l.lines }

// Append creates the next entry, durably. fs.ErrExist: another process writes this log.
func (l *CompactLog) Append(ctx context.Context, lines [][]byte) (id int64, err error) {
	id = l.last + 1
	all := append(slices.Clip(l.lines), lines...)
	name, content := fmt.Sprint(id), lines
	compacting := (id+1)%l.interval == 0
	if compacting {
		name, content = compactName(id), all
	}
	if err := l.store.PutIfAbsent(ctx, name, render(content)); err != nil {
		return id, fmt.Errorf("log %s: entry %s: %w", l.store.URL(), name, err)
	}
	l.last, l.lines = id, all
	if compacting {
		return id, l.purge(ctx, id)
	}
	return id, nil
}

// purge deletes what the compact file of id covers, except the newest few.
func (l *CompactLog) purge(ctx context.Context, id int64) error {
	ids, compacts, err := l.list(ctx)
	if err != nil {
		return err
	}
	var old []string
	for _, n := range ids {
		if n <= id-compactKept {
			old = append(old, fmt.Sprint(n))
		}
	}
	for _, n := range compacts {
		if n <= id-compactKept-l.interval {
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

func (l *CompactLog) read(ctx context.Context, name string) ([][]byte, error) {
	data, err := l.store.Get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("log %s: entry %s: %w", l.store.URL(), name, err)
	}
	version, rest, _ := bytes.Cut(data, []byte("\n"))
	if string(version) != "v1" {
		return nil, fmt.Errorf("log %s: entry %s: version %.20q: want v1", l.store.URL(), name, version)
	}
	if len(rest) == 0 {
		return nil, nil
	}
	return bytes.Split(rest, []byte("\n")), nil
}

func compactName(id int64) string { return fmt.Sprintf("%d.compact", id) }

func render(lines [][]byte) []byte {
	return append([]byte("v1"), bytes.Join(append([][]byte{nil}, lines...), []byte("\n"))...)
}
