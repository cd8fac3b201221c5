package translog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"microbatch/objstore"
	"microbatch/table/action"
)

// readCheckpoint shows all actions of a checkpoint; with light none on files.
func (l *Log) readCheckpoint(ctx context.Context, c *checkpoint, light bool, take func(*action.Action) error) error {
	var sidecars []action.Sidecar
	see := func(a *action.Action) error {
		if a.Sidecar != nil {
			sidecars = append(sidecars, *a.Sidecar)
		}
		return take(a)
	}
	for _, f := range c.files {
		if err := l.readCheckpointFile(ctx, f.Key, c.json, light, see); err != nil {
			return err
		}
	}
	if light {
		return nil
	}
	for _, s := range sidecars {
		key, err := action.DecodePath(s.Path)
		if err != nil {
			return l.damaged(c.files[0].Key, err)
		}
		if err := l.readCheckpointFile(ctx, l.format.Dir()+"_sidecars/"+key, false, false, see); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) openCheckpoint(ctx context.Context, key string) (objstore.Object, error) {
	object, err := l.store.Open(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, l.damaged(key, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", key, err)
	}
	return object, nil
}

func (l *Log) readCheckpointFile(ctx context.Context, key string, json, light bool, see func(*action.Action) error) error {
	object, err := l.openCheckpoint(ctx, key)
	if err != nil {
		return err
	}
	defer object.Close()
	if json {
		err = readJSONCheckpoint(object, light, see)
	} else {
		err = readParquetCheckpoint(ctx, object, light, see)
	}
	if err != nil && ctx.Err() == nil {
		return l.damaged(key, err)
	}
	return err
}

// readJSONCheckpoint reads JSON lines. Our own begin with what a writer needs; so with light the rest is not even read.
func readJSONCheckpoint(object objstore.Object, light bool, see func(*action.Action) error) error {
	in := newLineReader(object)
	for {
		line, err := in.next()
		if err == io.EOF {
			return in.check()
		}
		if err != nil {
			return err
		}
		if light && in.wantLines >= 0 && isOnFile(line) {
			return nil
		}
		a, err := action.DecodeLine(line)
		if err == nil && a.CheckpointMetadata != nil {
			err = in.heed(a.CheckpointMetadata)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", in.lines, err)
		}
		if light && (a.Add != nil || a.Remove != nil) {
			continue
		}
		if err := see(&a); err != nil {
			return err
		}
	}
}

// isOnFile reports whether a line of ours is an add or a remove.
func isOnFile(line []byte) bool {
	return bytes.HasPrefix(line, []byte(`{"add"`)) || bytes.HasPrefix(line, []byte(`{"remove"`))
}
