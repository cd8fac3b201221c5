package explore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"microbatch/ident"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/world"
)

// watch holds every write against what must be true in every state:
//
//	(W1) the table's log has no holes, its epochs never go back, and its batches come one after the other under one txn
//	(W2) a batch in the table has the digest and the text of offsets/<id>, and never another
//	(W3) offsets are dense above the low watermark, and only the last lacks its commit
//	(W4) commits/<id> comes after the batch is in the table
//	(W5) the files that a version names are there, and none of them is deleted
type watch struct {
	w       *world.World
	seen    int64             // the newest version that counts
	epoch   int64             // of it
	batch   int64             // of it, -1 if none
	entries map[int64]string  // offsets/<id> of each visible batch, as its version tells it
	live    map[string]bool   // data files
	low     int64             // the low watermark
	logs    map[string]string // keys of the checkpoint's logs that are there, with their text
}

// line is an action of a log entry, as far as it matters here.
type line struct {
	CommitInfo *struct {
		Microbatch *struct {
			Batch   *int64 `json:"batch"`
			Digest  string `json:"digest"`
			Offsets string `json:"offsets"`
		} `json:"microbatch"`
	} `json:"commitInfo"`
	Txn *struct {
		AppID   string `json:"appId"`
		Version int64  `json:"version"`
	} `json:"txn"`
	Add *struct {
		Path string `json:"path"`
	} `json:"add"`
	Remove *struct {
		Path string `json:"path"`
	} `json:"remove"`
}

// newWatch takes what is there for right.
func newWatch(w *world.World) (*watch, error) {
	o := &watch{w: w, seen: -1, batch: -1, low: -1, entries: map[int64]string{}, live: map[string]bool{}, logs: map[string]string{}}
	ctx := context.Background()
	for info, err := range w.Store(world.Checkpoint).List(ctx, "", "") {
		if err == nil {
			err = o.take(info.Key)
		}
		if err != nil {
			return nil, err
		}
	}
	for info, err := range w.Store(world.Table).List(ctx, logDir, "") {
		if err == nil {
			if v, ok := versionOf(info.Key); ok {
				o.seen = v - 1 // clean-up may have taken what came before
				err = o.look(gate.Op{Place: world.Table, Key: info.Key})
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return o, nil
}

// take notes an object of the checkpoint.
func (o *watch) take(key string) error {
	data, err := o.w.Store(world.Checkpoint).Get(context.Background(), key)
	if err != nil {
		return err
	}
	if mark, ok := strings.CutPrefix(key, "_engine/low-watermark/"); ok {
		if o.low, err = strconv.ParseInt(mark, 10, 64); err != nil {
			return err
		}
	}
	o.logs[key] = string(data)
	return nil
}

const logDir = "_metadata/"

// versionOf is the version of a log entry.
func versionOf(key string) (int64, bool) {
	name, ok := strings.CutPrefix(key, logDir+"_")
	name, isEntry := strings.CutSuffix(name, ".json")
	v, err := strconv.ParseInt(name, 10, 64)
	return v, ok && isEntry && err == nil
}

// look looks at what a write has done.
func (o *watch) look(op gate.Op) error {
	if op.Place == "topic" {
		return nil
	}
	data, err := o.w.Store(op.Place).Get(context.Background(), op.Key)
	gone := errors.Is(err, fs.ErrNotExist)
	if err != nil && !gone {
		return err
	}
	if op.Place == world.Checkpoint {
		return o.checkpoint(op.Key, string(data), gone)
	}
	if v, ok := versionOf(op.Key); ok && !gone {
		if v != o.seen+1 { // lost the race for a slot; or landed behind the log's clean-up, where no reader sees it
			return nil
		}
		return o.version(v, data)
	}
	if gone && o.live[op.Key] {
		return fmt.Errorf("W5: %s, which version %d names, was deleted", op.Key, o.seen)
	}
	return nil
}

func (o *watch) checkpoint(key, text string, gone bool) error {
	dir, name, _ := strings.Cut(key, "/")
	if mark, ok := strings.CutPrefix(key, "_engine/low-watermark/"); ok && !gone {
		n, err := strconv.ParseInt(mark, 10, 64)
		o.low = max(o.low, n)
		return err
	}
	id, err := strconv.ParseInt(name, 10, 64)
	if dir != "offsets" && dir != "commits" || err != nil {
		return nil
	}
	if gone {
		delete(o.logs, key)
		return nil
	}
	if was, ok := o.logs[key]; ok && was == text { // lost the race for it
		return nil
	}
	o.logs[key] = text
	if id <= o.low {
		return nil // it does not count
	}
	if dir == "offsets" {
		return o.intended(id, text)
	}
	if _, ok := o.logs["offsets/"+name]; !ok {
		return fmt.Errorf("W3: commits/%d without its offsets", id)
	}
	if o.batch < id {
		return fmt.Errorf("W4: commits/%d, and the table holds batch %d", id, o.batch)
	}
	return nil
}

func (o *watch) intended(id int64, text string) error {
	before := strconv.FormatInt(id-1, 10)
	if _, ok := o.logs["offsets/"+before]; !ok && id-1 > o.low {
		return fmt.Errorf("W3: offsets/%d without the one before", id)
	}
	if _, ok := o.logs["commits/"+before]; !ok && id-1 > o.low {
		return fmt.Errorf("W3: offsets/%d, and batch %d is not recorded", id, id-1)
	}
	if was, ok := o.entries[id]; ok && was != text {
		return fmt.Errorf("W2: offsets/%d was planned again after its batch was visible: %q, it was %q", id, text, was)
	}
	return nil
}

// version looks at the next version of the log.
func (o *watch) version(v int64, data []byte) error {
	o.seen = v
	var info *line
	txns := map[string]int64{}
	for text := range bytes.Lines(data) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return fmt.Errorf("W1: version %d: %w", v, err)
		}
		switch {
		case l.CommitInfo != nil && l.CommitInfo.Microbatch != nil:
			info = &l
		case l.Txn != nil:
			txns[l.Txn.AppID] = l.Txn.Version
		case l.Add != nil:
			o.live[l.Add.Path] = true
			if _, err := o.w.Store(world.Table).Stat(context.Background(), l.Add.Path); err != nil {
				return fmt.Errorf("W5: version %d names a file that is not there: %w", v, err)
			}
		case l.Remove != nil:
			delete(o.live, l.Remove.Path)
		}
	}
	batch := int64(-1)
	for app, n := range txns {
		switch {
		case strings.HasSuffix(app, "#epoch"):
			if n < o.epoch {
				return fmt.Errorf("W1: version %d is of epoch %d, the one before of %d", v, n, o.epoch)
			}
			o.epoch = n
		case !strings.ContainsAny(app, "#/"):
			batch = n
		}
	}
	if info == nil || info.CommitInfo.Microbatch.Batch == nil {
		return nil
	}
	m := info.CommitInfo.Microbatch
	if *m.Batch != batch {
		return fmt.Errorf("W1: version %d is batch %d, its txn says %d", v, *m.Batch, batch)
	}
	return o.batchCame(v, batch, m.Digest, m.Offsets)
}

func (o *watch) batchCame(v, id int64, digest, text string) error {
	if o.batch >= 0 && id != o.batch+1 {
		return fmt.Errorf("W1: version %d is batch %d, after batch %d", v, id, o.batch)
	}
	if got := ident.DigestOf([]byte(text)).String(); got != digest {
		return fmt.Errorf("W2: version %d: its text has digest %s, it says %s", v, got, digest)
	}
	if entry, ok := o.logs["offsets/"+strconv.FormatInt(id, 10)]; ok && !strings.HasPrefix(text, entry) && id > o.low { // it may be torn
		return fmt.Errorf("W2: batch %d of version %d was made from %q, offsets/%d is %q", id, v, text, id, entry)
	}
	o.batch, o.entries[id] = id, text
	return nil
}
