package checker

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"microbatch/objstore"
)

// queryLog follows the checkpoint of one query.
type queryLog struct {
	store   objstore.Store
	query   string // "" until metadata was found
	low     int64  // entries up to it do not count
	offsets map[int64]*written
	commits map[int64]*written
	epochs  map[int64]string    // the entry id that claimed it
	origins map[int]origin      // by source
	was     map[string]seenFile // what entries were before a power loss, by key
}

// written is an entry of offsets or commits.
type written struct {
	seenFile
	text  string
	entry *entry // of offsets; nil if it cannot be read
	epoch int64  // of the writer; -1 if it does not say
	// judged is the entry before that the range was compared with.
	judged *written
}

func newQueryLog(store objstore.Store) *queryLog {
	return &queryLog{store: store, low: -1, offsets: map[int64]*written{}, commits: map[int64]*written{}, epochs: map[int64]string{}, origins: map[int]origin{}}
}

var number = regexp.MustCompile(`^[0-9]{1,18}$`)

// list lists a directory of numbered files.
func (q *queryLog) list(ctx context.Context, dir string) (map[int64]objstore.Info, error) {
	out := map[int64]objstore.Info{}
	for info, err := range q.store.List(ctx, dir, "") {
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("checker: list %s: %w", dir, err)
		}
		if name := strings.TrimPrefix(info.Key, dir); number.MatchString(name) {
			n, _ := strconv.ParseInt(name, 10, 64) // at most 18 digits
			out[n] = info
		}
	}
	return out, nil
}

// recorded are the batches recorded by now. It is asked before the table is looked at, so that all of them have to be in the table.
func (q *queryLog) recorded(ctx context.Context, r *Report) (map[int64]objstore.Info, error) {
	if err := q.readQuery(ctx, r); err != nil {
		return nil, err
	}
	return q.list(ctx, "commits/")
}

func (q *queryLog) readQuery(ctx context.Context, r *Report) error {
	data, err := q.store.Get(ctx, "metadata")
	if errors.Is(err, fs.ErrNotExist) {
		if q.query != "" {
			r.broken(IDs, "metadata", "the query id %s was there and is gone", q.query)
		} else if len(q.offsets)+len(q.commits) > 0 {
			r.broken(IDs, "metadata", "it is missing, but the checkpoint has batches: without the query id they would be written again")
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("checker: metadata: %w", err)
	}
	var m struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(data, &m); err != nil || m.ID == "" {
		r.broken(IDs, "metadata", "it holds no query id: %.60q", data)
		return nil
	}
	if q.query != "" && q.query != m.ID {
		r.broken(IDs, "metadata", "the query id changes from %s to %s", q.query, m.ID)
	}
	q.query = m.ID
	return nil
}

// look reads the checkpoint after the table: recorded is what was listed before.
func (q *queryLog) look(ctx context.Context, recorded map[int64]objstore.Info, r *Report) error {
	offsets, err := q.list(ctx, "offsets/")
	if err != nil {
		return err
	}
	commits, err := q.list(ctx, "commits/")
	if err != nil {
		return err
	}
	low, err := q.list(ctx, "_engine/low-watermark/")
	if err != nil {
		return err
	}
	for n := range low {
		q.low = max(q.low, n)
	}
	if err := q.readEpochs(ctx, r); err != nil {
		return err
	}
	for _, l := range []struct {
		dir   string
		now   map[int64]objstore.Info
		known map[int64]*written
	}{{"offsets/", offsets, q.offsets}, {"commits/", commits, q.commits}} {
		if err := q.update(ctx, l.dir, l.now, l.known, r); err != nil {
			return err
		}
	}
	if first := q.offsets[q.low+1]; first != nil && first.entry != nil {
		for n := range first.entry.ends {
			if err := q.learnStart(ctx, n); err != nil {
				return err
			}
		}
	}
	q.was = nil // what is there was compared, and what is gone is forgiven
	q.judge(recorded, offsets, commits, r)
	if q.query == "" { // the id is there before the first entry, which may have come since it was looked for
		return q.readQuery(ctx, r)
	}
	return nil
}

func (q *queryLog) readEpochs(ctx context.Context, r *Report) error {
	now, err := q.list(ctx, "_engine/epoch/")
	if err != nil {
		return err
	}
	for e := range now {
		if _, ok := q.epochs[e]; ok {
			continue
		}
		key := fmt.Sprintf("_engine/epoch/%d", e)
		data, err := q.store.Get(ctx, key)
		if errors.Is(err, fs.ErrNotExist) {
			continue // purged meanwhile
		}
		if err != nil {
			return fmt.Errorf("checker: %s: %w", key, err)
		}
		var claim struct {
			Entry    string         `json:"entry"`
			Identity map[string]any `json:"identity"`
		}
		lines := strings.Split(string(data), "\n")
		if len(lines) != 3 || json.Unmarshal([]byte(lines[1]), &claim) != nil || epochOf(claim.Entry) != e {
			r.broken(Epoch, key, "it does not tell who claimed epoch %d", e)
			continue
		}
		q.epochs[e] = claim.Entry
		q.learnUnits(claim.Identity)
	}
	return nil
}

// learnUnits finds out what offsets of plain numbers count: orders counts rows, rate seconds of so many rows.
func (q *queryLog) learnUnits(identity map[string]any) {
	for n := 0; ; n++ {
		name := fmt.Sprintf("source.%d", n)
		switch kind, ok := identity[name]; {
		case !ok:
			return
		case kind == "orders":
			q.origins[n] = origin{1, map[string]int64{"": 0}}
		case kind == "rate":
			rows, _ := strconv.ParseInt(fmt.Sprint(identity[name+".rows_per_second"]), 10, 64) // 0: not known
			q.origins[n] = origin{rows, map[string]int64{"": 0}}
		}
	}
}

// learnStart reads where a Kafka source began: sources/<n>/0 is a zero byte, v1, and the offset.
func (q *queryLog) learnStart(ctx context.Context, n int) error {
	if _, ok := q.origins[n]; ok {
		return nil
	}
	data, err := q.store.Get(ctx, fmt.Sprintf("sources/%d/0", n))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("checker: sources/%d/0: %w", n, err)
	}
	_, text, _ := strings.Cut(string(data), "\n")
	if start, kafka, _ := positions(text); kafka {
		q.origins[n] = origin{1, start}
	}
	return nil
}

// newestEpoch is the newest claimed epoch; 0 if there is none.
func (q *queryLog) newestEpoch() (newest int64) {
	for e := range q.epochs {
		newest = max(newest, e)
	}
	return newest
}

// update reads entries that are new or look changed, and forgets those that are gone.
func (q *queryLog) update(ctx context.Context, dir string, now map[int64]objstore.Info, known map[int64]*written, r *Report) error {
	for id := range known {
		if _, ok := now[id]; ok {
			continue
		}
		if id > q.low {
			r.broken(IDs, dir+strconv.FormatInt(id, 10), "the entry was there and is gone, above the low watermark %d", q.low)
		}
		delete(known, id)
	}
	for _, id := range slices.Sorted(maps.Keys(now)) {
		if was, ok := known[id]; id <= q.low || ok && was.info == now[id] {
			continue
		}
		if err := q.read(ctx, dir, id, now[id], known, r); err != nil {
			return err
		}
	}
	return nil
}

func (q *queryLog) read(ctx context.Context, dir string, id int64, info objstore.Info, known map[int64]*written, r *Report) error {
	key := dir + strconv.FormatInt(id, 10)
	data, err := q.store.Get(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // purged meanwhile, or missed at the next look
	}
	if err != nil {
		return fmt.Errorf("checker: %s: %w", key, err)
	}
	w := &written{seenFile: seenFile{sha256.Sum256(data), info}, text: string(data), epoch: -1}
	was, seen := q.was[key]
	if k, ok := known[id]; ok {
		was, seen = k.seenFile, true
	}
	if seen && was.sum != w.sum {
		r.broken(IDs, key, "the entry is not what it was: its bytes have changed")
	}
	r.checked(IDs, 1)
	known[id] = w
	if dir == "commits/" {
		w.epoch, err = commitEpoch(w.text)
		w.text = ""
	} else if w.entry, err = parseEntry(w.text); err == nil && w.entry.writer != "" {
		w.epoch = epochOf(w.entry.writer)
	}
	if err != nil {
		r.broken(IDs, key, "it cannot be read: %v", err)
	}
	return nil
}

// commitEpoch is the epoch of the run that recorded a batch; -1 if the entry does not say.
func commitEpoch(text string) (int64, error) {
	first, rest, _ := strings.Cut(text, "\n")
	if len(first) != 2 || first[0] != 'v' || first[1] < '1' || first[1] > '3' {
		return -1, fmt.Errorf("its first line is %.20q, not v1 to v3", first)
	}
	if rest == "" {
		return -1, nil
	}
	var c struct {
		Entry string `json:"microbatchEntry"`
	}
	if err := json.Unmarshal([]byte(rest), &c); err != nil {
		return -1, fmt.Errorf("line 2: %w", err)
	}
	return epochOf(c.Entry), nil
}

// judge verifies rule 7 within the checkpoint, and rule 8. What was listed earlier has to be part of what was listed later.
func (q *queryLog) judge(recorded, offsets, commits map[int64]objstore.Info, r *Report) {
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(offsets)), func(id int64) bool { return id <= q.low })
	for i, id := range ids {
		key := fmt.Sprintf("offsets/%d", id)
		if i > 0 && ids[i-1] != id-1 {
			r.broken(IDs, fmt.Sprintf("offsets/%d", id-1), "the entry is missing, between %d and %d", ids[i-1], id)
		}
		if _, ok := commits[id]; !ok && i < len(ids)-1 {
			r.broken(IDs, fmt.Sprintf("commits/%d", id), "batch %d is not recorded, but batch %d was begun", id, id+1)
		}
		now, before := q.offsets[id], q.offsets[id-1]
		if now == nil || now.entry == nil || before == nil || before.entry == nil || now.judged == before {
			continue
		}
		now.judged = before
		r.checked(Ranges, 1)
		_, faults := span(before.entry.ends, now.entry, q.origins)
		for _, f := range faults {
			r.broken(Ranges, key, "%s", f)
		}
	}
	for id := range recorded {
		if _, ok := offsets[id]; !ok && id > q.low {
			r.broken(IDs, fmt.Sprintf("commits/%d", id), "batch %d is recorded, but offsets/%d is missing", id, id)
		}
	}
	for id, c := range q.commits {
		if o := q.offsets[id]; o != nil && c.epoch >= 0 && c.epoch < o.epoch {
			r.broken(Epoch, fmt.Sprintf("commits/%d", id), "the batch was recorded in epoch %d and begun in epoch %d", c.epoch, o.epoch)
		}
	}
}

// lacks reports whether the entry of a batch is not there although no purge has taken it: purges go up from the oldest.
func (q *queryLog) lacks(id int64) bool {
	if id <= q.low || q.offsets[id] != nil {
		return false
	}
	for other := range q.offsets {
		if other < id {
			return true
		}
	}
	return len(q.offsets) == 0
}

// last is the newest entry of offsets; -1 if there is none.
func (q *queryLog) last() int64 {
	newest := q.low
	for id := range q.offsets {
		newest = max(newest, id)
	}
	return newest
}

// all are the entries as they were read, by key.
func (q *queryLog) all() map[string]seenFile {
	out := map[string]seenFile{}
	for id, w := range q.offsets {
		out[fmt.Sprintf("offsets/%d", id)] = w.seenFile
	}
	for id, w := range q.commits {
		out[fmt.Sprintf("commits/%d", id)] = w.seenFile
	}
	return out
}

// verifyAll reads every entry again.
func (q *queryLog) verifyAll(ctx context.Context, r *Report) error {
	for dir, known := range map[string]map[int64]*written{"offsets/": q.offsets, "commits/": q.commits} {
		for _, id := range slices.Sorted(maps.Keys(known)) {
			if err := q.read(ctx, dir, id, known[id].info, known, r); err != nil {
				return err
			}
		}
	}
	return nil
}
