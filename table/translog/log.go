package translog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/table/action"
)

// Log is the log of the table in a store. Its methods may be called concurrently; it holds no state.
type Log struct {
	store  objstore.Store
	format Format
	now    func() time.Time
}

// New is the log of the table in a store, whether it exists or not. now is the clock for what is written to the log.
func New(store objstore.Store, format Format, now func() time.Time) *Log {
	return &Log{store: store, format: format, now: now}
}

// Format is the log's dress.
func (l *Log) Format() Format { return l.format }

// Store is where the table is.
func (l *Log) Store() objstore.Store { return l.store }

// Now is the log's clock.
func (l *Log) Now() time.Time { return l.now() }

// Read reads the commit of a version, and its size in bytes. fs.ErrNotExist: there is none.
func (l *Log) Read(ctx context.Context, v int64) ([]action.Action, int64, error) {
	e, err := l.entry(ctx, v)
	return e.actions, int64(len(e.data)), err
}

// entry is the commit of a version.
func (l *Log) entry(ctx context.Context, v int64) (entry, error) {
	key := l.format.CommitKey(v)
	data, err := l.store.Get(ctx, key)
	if err != nil {
		return entry{}, fmt.Errorf("read %s: %w", key, err)
	}
	actions, err := action.Decode(data)
	if err == nil {
		err = l.checkKnown(actions)
	}
	if err != nil {
		return entry{}, l.damaged(key, err)
	}
	e := entry{actions: actions, data: data}
	if info := commitInfo(actions); info != nil {
		e.txnID = info.TxnID
	}
	return e, nil
}

// checkKnown refuses actions that are not known in a log that only this program writes: there it is an add whose name has rotted, and its rows would be
// gone in silence. In a Delta log others may have written them, and they are ignored.
func (l *Log) checkKnown(actions []action.Action) error {
	for i := range actions {
		if l.format == Parquet && !actions[i].Known() {
			return fmt.Errorf("action %d is not known", i+1)
		}
	}
	return nil
}

// readTip is by what the commit of a version is known again (entry.tip). A txnId is at the beginning, so a long commit need not be decoded.
func (l *Log) readTip(ctx context.Context, v int64) (string, error) {
	key := l.format.CommitKey(v)
	data, err := l.store.Get(ctx, key)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", key, err)
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	if a, err := action.DecodeLine(line); err == nil && a.CommitInfo != nil {
		return entry{txnID: a.CommitInfo.TxnID, data: data}.tip(), nil
	}
	actions, err := action.Decode(data)
	if err != nil {
		return "", l.damaged(key, err)
	}
	e := entry{data: data}
	if info := commitInfo(actions); info != nil {
		e.txnID = info.TxnID
	}
	return e.tip(), nil
}

func (l *Log) damaged(key string, err error) error {
	return errcode.TableLog.Wrap(err, l.store.URL()+"/"+key, "cannot be read")
}

// checkpoint is a complete checkpoint found by listing.
type checkpoint struct {
	version int64
	files   []objstore.Info // one, or all parts in order
	json    bool
	v2      bool
}

func (c *checkpoint) bytes() (n int64) {
	for _, f := range c.files {
		n += f.Size
	}
	return n
}

// listing is what the log's directory holds from some version on.
type listing struct {
	commits     map[int64]objstore.Info
	checkpoints []checkpoint // complete ones, ascending by version
	newest      int64        // highest version of a commit or complete checkpoint, -1 if none
}

// list lists the log from a version on, up to a version (both inclusive).
func (l *Log) list(ctx context.Context, from, to int64) (*listing, error) {
	out := &listing{commits: map[int64]objstore.Info{}, newest: -1}
	parts := map[int64]map[int][]objstore.Info{} // by version and number of parts
	after := ""
	if from > 0 {
		after = l.format.stem(from)
	}
	for info, err := range l.store.List(ctx, l.format.Dir(), after) {
		if err != nil {
			return nil, fmt.Errorf("list %s/%s: %w", l.store.URL(), l.format.Dir(), err)
		}
		file, ok := l.format.parse(info.Key)
		if !ok {
			if beyondVersions(l.format, info.Key) {
				break
			}
			continue
		}
		if file.version > to {
			break
		}
		if info.Size == 0 {
			continue // a placeholder, or torn by another program: the same as missing
		}
		switch file.kind {
		case commitFile:
			out.commits[file.version] = info
			out.newest = max(out.newest, file.version)
		case checkpointFile:
			out.checkpoints = append(out.checkpoints, checkpoint{file.version, []objstore.Info{info}, file.json, file.v2})
			out.newest = max(out.newest, file.version)
		case partFile:
			if parts[file.version] == nil {
				parts[file.version] = map[int][]objstore.Info{}
			}
			sets := parts[file.version]
			sets[file.parts] = append(sets[file.parts], info) // the listing is in order, so the parts are too
			if len(sets[file.parts]) == file.parts {
				out.checkpoints = append(out.checkpoints, checkpoint{version: file.version, files: sets[file.parts]})
				out.newest = max(out.newest, file.version)
			}
		}
	}
	slices.SortStableFunc(out.checkpoints, func(a, b checkpoint) int { return int(a.version - b.version) })
	return out, nil
}

// beyondVersions reports whether a key sorts behind all numbered files, so that the subdirectories of a log are not listed.
func beyondVersions(f Format, key string) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(key, f.Dir()), "_")
	return name != "" && name[0] > '9' && f == Delta
}

// versions are the commits of the listing, ascending.
func (s *listing) versions() []int64 { return slices.Sorted(maps.Keys(s.commits)) }

// first is the lowest version of a commit or checkpoint.
func (s *listing) first() int64 {
	first := s.newest
	for v := range s.commits {
		first = min(first, v)
	}
	for _, c := range s.checkpoints {
		first = min(first, c.version)
	}
	return max(first, 0)
}

// hint is the version that _last_checkpoint names, -1 if it says nothing usable: it is a hint and nothing more.
func (l *Log) hint(ctx context.Context) (int64, error) {
	if l.format != Delta {
		return -1, nil
	}
	data, err := l.store.Get(ctx, lastCheckpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return -1, nil
	}
	if err != nil {
		return -1, fmt.Errorf("read %s: %w", lastCheckpoint, err)
	}
	var h struct {
		Version *int64 `json:"version"`
	}
	if json.Unmarshal(data, &h) != nil || h.Version == nil || *h.Version < 0 {
		return -1, nil
	}
	return *h.Version, nil
}
