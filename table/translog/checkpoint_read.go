package translog

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

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

func (l *Log) readCheckpointFile(ctx context.Context, key string, json, light bool, see func(*action.Action) error) error {
	object, err := l.store.Open(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return l.damaged(key, err)
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", key, err)
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

// linesTag is the tag of checkpointMetadata that says how many lines a JSON checkpoint of ours has, so that a shortened one is known.
const linesTag = "microbatch.lines"

// readJSONCheckpoint reads JSON lines. Our own begin with what a writer needs; so with light the rest is not even read.
func readJSONCheckpoint(object objstore.Object, light bool, see func(*action.Action) error) error {
	in := bufio.NewReaderSize(io.NewSectionReader(object, 0, object.Size()), 1<<18)
	lines, want := 0, -1
	for {
		line, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return err
		}
		end := err == io.EOF
		if line = bytes.TrimSpace(line); len(line) == 0 && end {
			break
		}
		if light && want >= 0 && (bytes.HasPrefix(line, []byte(`{"add"`)) || bytes.HasPrefix(line, []byte(`{"remove"`))) {
			return nil
		}
		lines++
		a, err := action.DecodeLine(line)
		if err != nil {
			return fmt.Errorf("line %d: %w", lines, err)
		}
		if m := a.CheckpointMetadata; m != nil && m.Tags[linesTag] != "" {
			if want, err = strconv.Atoi(m.Tags[linesTag]); err != nil {
				return fmt.Errorf("line %d: %w", lines, err)
			}
		}
		if !light || a.Add == nil && a.Remove == nil {
			if err := see(&a); err != nil {
				return err
			}
		}
		if end {
			break
		}
	}
	if want >= 0 && lines != want {
		return fmt.Errorf("it has %d lines and should have %d", lines, want)
	}
	return nil
}
