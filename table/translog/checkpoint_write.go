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
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/arrowparquet"
	"microbatch/internal/bugs"
	"microbatch/internal/failpoint"
	"microbatch/table/action"
)

// WriteCheckpoint writes the checkpoint of a state's version and returns the state with it. It reads the whole list of files, so it is not for the way
// of a commit. Somebody else's checkpoint of the version is as good as ours.
func (l *Log) WriteCheckpoint(ctx context.Context, s *State) (*State, error) {
	files, err := l.Files(ctx, s.Version)
	if err != nil {
		return s, fmt.Errorf("checkpoint of version %d: %w", s.Version, err)
	}
	actions := l.summary(files)
	var data []byte
	if l.format == Delta {
		data, err = encodeParquetCheckpoint(actions)
	} else {
		data, err = encodeJSONCheckpoint(files.State.Version, actions)
	}
	if err == nil {
		err = l.proofread(ctx, data, actions)
	}
	if err != nil {
		return s, fmt.Errorf("checkpoint of version %d: %w", s.Version, err)
	}
	failpoint.Hit("checkpoint.before")
	err = l.store.PutIfAbsent(ctx, l.format.checkpointKey(s.Version), data)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return s, fmt.Errorf("put %s: %w", l.format.checkpointKey(s.Version), err)
	}
	failpoint.Hit("checkpoint.after")
	if l.format == Delta {
		if err := l.putHint(ctx, s.Version, len(actions), len(data), len(files.Live)); err != nil {
			return s, err
		}
	}
	next := *s
	next.checkpoint, next.checkpointBytes, next.commits, next.commitBytes = s.Version, int64(len(data)), 0, 0
	return &next, nil
}

// proofread reads a checkpoint back before anybody relies on it: once the entries before it are cleaned up, it is all that is left of them.
func (l *Log) proofread(ctx context.Context, data []byte, want []action.Action) error {
	left := map[string]int{}
	for i := range want {
		left[keyOf(&want[i])]++
	}
	see := func(a *action.Action) error {
		if key := keyOf(a); key != "" {
			left[key]--
		}
		return nil
	}
	var err error
	if l.format == Delta {
		err = readParquetCheckpoint(ctx, inMemory{bytes.NewReader(data)}, false, see)
	} else {
		err = readJSONCheckpoint(inMemory{bytes.NewReader(data)}, false, see)
	}
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	for key, n := range left {
		if n != 0 {
			return fmt.Errorf("read back: %s is there %d times too few", key, n)
		}
	}
	return nil
}

// keyOf tells actions apart; "" for one that is not part of a table's state.
func keyOf(a *action.Action) string {
	switch {
	case a.Protocol != nil:
		return fmt.Sprint("protocol ", *a.Protocol)
	case a.Metadata != nil:
		return "metaData " + a.Metadata.ID + a.Metadata.Schema
	case a.Txn != nil:
		return fmt.Sprint("txn ", a.Txn.AppID, a.Txn.Version)
	case a.DomainMetadata != nil:
		return "domainMetadata " + a.DomainMetadata.Domain
	case a.Add != nil:
		return fmt.Sprint("add ", a.Add.Key(), a.Add.Size)
	case a.Remove != nil:
		return fmt.Sprint("remove ", a.Remove.Key())
	}
	return ""
}

// inMemory is an object that is not stored yet.
type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

// summary are the actions that a version adds up to, those that a writer needs first. Removes older than the retention are forgotten (Delta protocol:
// Action Reconciliation), except that nothing younger than MinRetention ever is.
func (l *Log) summary(f *Files) []action.Action {
	s := f.State
	actions := []action.Action{{Protocol: &s.Protocol}, {Metadata: &s.Metadata}}
	for _, id := range slices.Sorted(maps.Keys(s.Txns)) {
		t := s.Txns[id]
		if bugs.Is(bugs.ExpireTxn) && t.LastUpdated < l.now().Add(-s.FileRetention()).UnixMilli() {
			continue
		}
		actions = append(actions, action.Action{Txn: &t})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Domains)) {
		d := s.Domains[name]
		actions = append(actions, action.Action{DomainMetadata: &d})
	}
	cutoff := l.now().Add(-max(s.FileRetention(), MinRetention)).UnixMilli()
	for _, r := range f.Removed {
		if r.Deleted > cutoff && !bugs.Is(bugs.ForgetRemoves) {
			actions = append(actions, action.Action{Remove: r})
		}
	}
	for _, a := range f.Sorted() {
		actions = append(actions, action.Action{Add: a})
	}
	return actions
}

func encodeJSONCheckpoint(version int64, actions []action.Action) ([]byte, error) {
	head := action.Action{CheckpointMetadata: &action.CheckpointMetadata{Version: version, Tags: map[string]string{linesTag: strconv.Itoa(len(actions) + 1)}}}
	return action.Encode(append([]action.Action{head}, actions...))
}

// checkpointRows is how many actions are turned into one Arrow record.
const checkpointRows = 4096

func encodeParquetCheckpoint(actions []action.Action) ([]byte, error) {
	var out bytes.Buffer
	schema := checkpointSchema()
	// Every reader of Delta reads this file, so nothing but what all of them know.
	w, err := arrowparquet.NewWriter(&out, schema, arrowparquet.Options{Compression: arrowparquet.Snappy, Encoding: arrowparquet.Plain})
	if err != nil {
		return nil, err
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for chunk := range slices.Chunk(actions, checkpointRows) {
		for i := range chunk {
			column, r := rowOf(&chunk[i])
			for c, f := range schema.Fields() {
				if f.Name == column {
					appendValue(b.Field(c), r)
				} else {
					b.Field(c).AppendNull()
				}
			}
		}
		rec := b.NewRecordBatch()
		err := w.Write(rec)
		rec.Release()
		if err != nil {
			return nil, err
		}
	}
	if _, err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// putHint writes _last_checkpoint. It is overwritten, and a reader must not rely on it.
func (l *Log) putHint(ctx context.Context, version int64, actions, bytes, adds int) error {
	hint := struct {
		Version     int64 `json:"version"`
		Size        int   `json:"size"`
		SizeInBytes int   `json:"sizeInBytes"`
		Adds        int   `json:"numOfAddFiles"`
	}{version, actions, bytes, adds}
	data, err := json.Marshal(hint)
	if err != nil {
		return err
	}
	if err := l.store.Put(ctx, lastCheckpoint, append(data, '\n')); err != nil {
		return fmt.Errorf("put %s: %w", lastCheckpoint, err)
	}
	return nil
}
