package checker

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"microbatch/objstore"
)

// tableLog follows the log of one table. It is looked at again and again, and goes on where it stood.
type tableLog struct {
	store  objstore.Store
	format Format
	label  string // before places in messages: "" or "rejected table: "
	oldest int64  // the first version of the unbroken run that the log still has
	base   int64  // the state began with the log checkpoint of this version; -1: with nothing
	state  *state // nil before the first look
	cut    bool   // a version is missing or cannot be read: what it and those behind it hold is not known
	seen   map[int64]seenFile
	proved map[int64]objstore.Info // log checkpoints that were compared
	sums   map[int64]stateSum      // of each version, for log checkpoints that come later
	// was holds what versions were before a power loss.
	was map[int64]seenFile
}

// seenFile is a file as it was when it was read.
type seenFile struct {
	sum  [sha256.Size]byte
	info objstore.Info
}

func newTableLog(store objstore.Store, format Format, label string) *tableLog {
	return &tableLog{store: store, format: format, label: label, base: -1, seen: map[int64]seenFile{}, proved: map[int64]objstore.Info{}, sums: map[int64]stateSum{}}
}

func (t *tableLog) at(v int64) string { return t.label + t.format.commitKey(v) }

// listing is what a log's directory held.
type listing struct {
	commits     map[int64]objstore.Info
	checkpoints map[int64][]objstore.Info // whole ones
}

func (t *tableLog) list(ctx context.Context) (l listing, err error) {
	l = listing{map[int64]objstore.Info{}, map[int64][]objstore.Info{}}
	of := map[int64]int{}
	for info, err := range t.store.List(ctx, t.format.dir(), "") {
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return l, fmt.Errorf("checker: list %s: %w", t.format.dir(), err)
		}
		n, ok := t.format.parse(info.Key)
		switch {
		case !ok:
		case !n.checkpoint:
			l.commits[n.version] = info
		case n.part > 0:
			l.checkpoints[n.version] = append(l.checkpoints[n.version], info)
			of[n.version] = n.of
		default: // a whole one serves alone, whatever else is there
			l.checkpoints[n.version] = []objstore.Info{info}
			of[n.version] = 1
		}
	}
	maps.DeleteFunc(l.checkpoints, func(v int64, files []objstore.Info) bool { return len(files) != of[v] })
	return l, nil
}

// newestCheckpoint is its version; -1 if there is none.
func (l *listing) newestCheckpoint() int64 {
	newest := int64(-1)
	for v := range l.checkpoints {
		newest = max(newest, v)
	}
	return newest
}

// run is the unbroken run of versions around a log checkpoint's (-1: none): what readers can use.
func (l *listing) run(checkpoint int64) (oldest, newest int64) {
	oldest, newest = checkpoint+1, checkpoint
	for _, ok := l.commits[oldest-1]; ok; _, ok = l.commits[oldest-1] {
		oldest--
	}
	for _, ok := l.commits[newest+1]; ok; _, ok = l.commits[newest+1] {
		newest++
	}
	return oldest, newest
}

// follower is told what the log tells. removed are the files of v.Removes as they were added.
type follower struct {
	// begin is told the state of a log checkpoint that the look begins with.
	begin func(s *state) error
	// past is told versions that lie before the state's beginning: their commits are there, but not what they build on.
	past func(v *Version)
	// next is told each version and the txns before it.
	next func(v *Version, before map[string]int64, removed []File) error
	// progress may be nil.
	progress func(what string, done, all int64)
}

// look reads what has come since the last look, and verifies that what was there still is as it was.
func (t *tableLog) look(ctx context.Context, r *Report, to follower) error {
	l, err := t.list(ctx)
	if err != nil || len(l.commits)+len(l.checkpoints) == 0 && t.state == nil {
		return err
	}
	if err := t.verifySeen(ctx, r, &l); err != nil {
		return err
	}
	if t.state == nil {
		if err := t.begin(ctx, &l, r, to); err != nil {
			return err
		}
	}
	if err := t.goOn(ctx, &l, r, to); err != nil {
		return err
	}
	t.was = nil // what is there was compared, and what is gone is forgiven
	return t.proveSummary(ctx, &l, r)
}

// begin finds where the state can start: at version 0, or else at the oldest log checkpoint that the unbroken run goes on from.
func (t *tableLog) begin(ctx context.Context, l *listing, r *Report, to follower) error {
	t.oldest, _ = l.run(l.newestCheckpoint())
	t.state = newState()
	for v := range l.commits {
		if v < t.oldest {
			r.notice("%s stands below a hole in the log: no reader uses it", t.at(v))
		}
	}
	if t.oldest == 0 {
		return nil
	}
	t.base = slices.Min(slices.Collect(func(yield func(int64) bool) {
		for v := range l.checkpoints {
			if v >= t.oldest-1 && !yield(v) {
				return
			}
		}
	}))
	s, err := t.readSummary(ctx, l, t.base)
	if isUnreadable(err) {
		r.broken(Summary, t.label+l.checkpoints[t.base][0].Key, "%v", err)
		s = newState() // what follows is judged as far as it can be
		s.version = t.base
	} else if err != nil {
		return fmt.Errorf("checker: %s: %w", t.label, err)
	}
	t.state, t.sums[t.base] = s, s.sum
	for n, got := range t.fetch(ctx, t.oldest, t.base) {
		version, err := t.read(got, l.commits[n], n, r)
		if err != nil {
			return err
		}
		if version != nil {
			to.past(version)
		}
	}
	return to.begin(s)
}

// readSummary reads the log checkpoint of a version.
func (t *tableLog) readSummary(ctx context.Context, l *listing, v int64) (*state, error) {
	var keys []string
	for _, f := range l.checkpoints[v] {
		keys = append(keys, f.Key)
	}
	t.proved[v] = l.checkpoints[v][0]
	return readSummary(ctx, t.store, t.format, v, keys)
}

// goOn applies the versions behind the state.
func (t *tableLog) goOn(ctx context.Context, l *listing, r *Report, to follower) error {
	newest := t.state.version
	for _, ok := l.commits[newest+1]; ok; _, ok = l.commits[newest+1] {
		newest++
	}
	first, told := t.state.version+1, time.Now()
	for n, got := range t.fetch(ctx, first, newest) {
		v, err := t.read(got, l.commits[n], n, r)
		if err != nil {
			return err
		}
		if v == nil { // cannot be read: reported; what follows cannot be judged
			t.state.version, t.cut = n, true
			continue
		}
		if err := t.apply(v, r, to); err != nil {
			return err
		}
		if to.progress != nil && time.Since(told) > time.Second {
			told = time.Now()
			to.progress("versions", n-first+1, newest-first+1)
		}
	}
	behind := slices.DeleteFunc(slices.Sorted(maps.Keys(l.commits)), func(v int64) bool { return v <= newest })
	if len(behind) > 0 {
		t.cut = true
		r.broken(Log, t.at(newest+1), "the version is missing, but version %d is there", behind[0])
	}
	return nil
}

func (t *tableLog) apply(v *Version, r *Report, to follower) error {
	before := make(map[string]int64, len(v.Txns))
	for app := range v.Txns {
		for _, name := range []string{app, app + "#epoch", app + "#offsets"} {
			if n, ok := t.state.txns[name]; ok {
				before[name] = n
			}
		}
	}
	removed, faults := t.state.apply(v)
	for _, f := range faults {
		r.broken(Files, t.at(v.Number), "%s", f)
	}
	r.checked(Files, len(v.Adds)+len(v.Removes))
	switch {
	case v.TableID == "":
	case t.state.tableID != "" && t.state.tableID != v.TableID:
		r.broken(Log, t.at(v.Number), "the table's id changes from %s to %s", t.state.tableID, v.TableID)
	default:
		t.state.tableID = v.TableID
	}
	t.sums[v.Number] = t.state.sum
	return to.next(v, before, removed)
}

// read reads a version. nil: it cannot be read, which is reported.
func (t *tableLog) read(got fetched, info objstore.Info, n int64, r *Report) (*Version, error) {
	data, err := got.data, got.err
	if err != nil {
		return nil, fmt.Errorf("checker: %s: %w", t.at(n), err)
	}
	r.checked(Log, 1)
	t.seen[n] = seenFile{sha256.Sum256(data), info}
	if was, ok := t.was[n]; ok && was.sum != t.seen[n].sum {
		r.broken(Log, t.at(n), "the version is not what it was before the power loss: its bytes have changed")
	}
	v, faults, err := parseCommit(n, data)
	if err != nil {
		r.broken(Log, t.at(n), "it cannot be read: %v", err)
		return nil, nil
	}
	for _, f := range faults {
		r.broken(Log, t.at(n), "%s", f)
	}
	return v, nil
}

// verifySeen compares the versions read before with what is listed now.
func (t *tableLog) verifySeen(ctx context.Context, r *Report, l *listing) error {
	lowest, _ := l.run(l.newestCheckpoint())
	gone := int64(-1) // the highest that is gone
	for n := range t.seen {
		if _, ok := l.commits[n]; !ok {
			gone = max(gone, n)
			if n >= lowest {
				r.broken(Log, t.at(n), "the version was there and is gone, and no log checkpoint stands for it")
			}
			delete(t.seen, n)
		}
	}
	for n, was := range t.seen {
		if now := l.commits[n]; now != was.info {
			if err := t.verifyBytes(ctx, r, n, now, n < lowest); err != nil {
				return err
			}
		}
		if n < gone && n < lowest {
			r.notice("%s stands below a hole in the log: no reader uses it", t.at(n))
		}
	}
	t.oldest = max(t.oldest, lowest)
	return nil
}

// verifyBytes reads a version again. late: its slot was cleaned, so a writer that had slept may have filled it anew, which no reader sees.
func (t *tableLog) verifyBytes(ctx context.Context, r *Report, n int64, info objstore.Info, late bool) error {
	data, err := t.store.Get(ctx, t.format.commitKey(n))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // cleaned up meanwhile, or the next look finds it gone
	}
	if err != nil {
		return fmt.Errorf("checker: %s: %w", t.at(n), err)
	}
	r.checked(Log, 1)
	was := t.seen[n]
	switch {
	case sha256.Sum256(data) == was.sum:
		t.seen[n] = seenFile{was.sum, info}
	case late:
		r.notice("%s came into a slot that was cleaned up: no reader uses it", t.at(n))
		delete(t.seen, n)
	default:
		r.broken(Log, t.at(n), "the version is not what it was: its bytes have changed")
		t.seen[n] = seenFile{sha256.Sum256(data), info}
	}
	return nil
}

// proveSummary compares the newest log checkpoint, if it is new, with the versions up to its own.
func (t *tableLog) proveSummary(ctx context.Context, l *listing, r *Report) error {
	v := l.newestCheckpoint()
	if v < 0 || t.proved[v] == l.checkpoints[v][0] {
		return nil
	}
	want, ok := t.sums[v]
	if !ok {
		return nil // it lies before what was read, or behind a hole
	}
	where := t.label + l.checkpoints[v][0].Key
	s, err := t.readSummary(ctx, l, v)
	if isUnreadable(err) {
		r.broken(Summary, where, "%v", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("checker: %s: %w", where, err)
	}
	r.checked(Summary, s.sum.files+s.sum.txns)
	switch {
	case s.sum == want:
	case s.sum.files != want.files:
		r.broken(Summary, where, "it holds %d live files, the versions up to %d make %d", s.sum.files, v, want.files)
	case s.sum.filesHash != want.filesHash:
		r.broken(Summary, where, "its %d live files are not those that the versions up to %d make", s.sum.files, v)
	default:
		r.broken(Summary, where, "it holds %d txns, which are not the %d that the versions up to %d make", s.sum.txns, want.txns, v)
	}
	return nil
}

// verifyAll reads every version again.
func (t *tableLog) verifyAll(ctx context.Context, r *Report) error {
	for _, n := range slices.Sorted(maps.Keys(t.seen)) {
		if err := t.verifyBytes(ctx, r, n, t.seen[n].info, n < t.oldest); err != nil {
			return err
		}
	}
	return nil
}
