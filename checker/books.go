package checker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// books follow the rows of one table by their ids, version by version.
type books struct {
	log     *tableLog
	columns []string
	cache   map[fileID][]string
	total   map[string]int  // the rows of the live files
	known   map[string]bool // ids that the model has named so far
	foreign bool            // another writer has changed rows
	// blind says why total is not known: files of a version could not be read. It is made anew from the live files.
	blind string
}

func newBooks(log *tableLog, columns []string) *books {
	return &books{log: log, columns: columns, cache: map[fileID][]string{}, total: map[string]int{}, known: map[string]bool{}}
}

// read are the ids of a file. ok is false if it cannot be known; a file that is damaged is reported.
func (b *books) read(ctx context.Context, f *File, r *Report) (ids []string, ok bool, err error) {
	if ids, ok := b.cache[f.id()]; ok {
		return ids, true, nil
	}
	if f.Key == "" {
		b.blind = fmt.Sprintf("%q is no path below the table", f.Path)
		return nil, false, nil
	}
	ids, err = readIDs(ctx, b.log.store, f, b.columns)
	switch {
	case err == nil:
		b.cache[f.id()] = ids
		if f.Rows >= 0 && int64(len(ids)) != f.Rows {
			r.broken(Count, b.log.label+f.Key, "the file holds %d rows, the log says %d", len(ids), f.Rows)
		}
		return ids, true, nil
	case errors.Is(err, fs.ErrNotExist): // vacuumed, or lost: then it is live at the end, and missing
		b.blind = "file " + f.Key + " is gone"
		return nil, false, nil
	case errors.Is(err, errVector):
		b.blind = fmt.Sprintf("file %s: %v", f.Key, err)
		return nil, false, nil
	case isUnreadable(err):
		r.broken(Files, b.log.label+f.Key, "it cannot be read: %v", err)
		b.blind = "file " + f.Key + " cannot be read"
		return nil, false, nil
	}
	return nil, false, fmt.Errorf("checker: %s: %w", f.Key, err)
}

func (b *books) readAll(ctx context.Context, files []File, r *Report) (ids []string, ok bool, err error) {
	ok = true
	for i := range files {
		more, known, err := b.read(ctx, &files[i], r)
		if err != nil {
			return nil, false, err
		}
		ids, ok = append(ids, more...), ok && known
	}
	return ids, ok, nil
}

// next follows a version. The batch it holds, if any, is judged later: its ids are kept in f.
func (b *books) next(ctx context.Context, v *Version, removed []File, f *fact, r *Report) error {
	if f == nil && !v.MovesOnly() && len(v.Adds)+len(v.Removes) > 0 {
		b.foreign = true
	}
	added, ok, err := b.readAll(ctx, v.Adds, r)
	if err != nil {
		return err
	}
	taken, ok2, err := b.readAll(ctx, removed, r)
	if err != nil {
		return err
	}
	for i := range removed {
		delete(b.cache, removed[i].id())
	}
	if !ok || !ok2 {
		return nil
	}
	change := map[string]int{}
	count(change, added, 1)
	count(change, taken, -1)
	for id, n := range change {
		if b.total[id] += n; b.total[id] == 0 {
			delete(b.total, id)
		}
	}
	switch {
	case f != nil && f.replaces: // the table as a whole is judged
	case f != nil:
		f.ids, f.known = added, true
		if len(taken) > 0 {
			r.broken(Rewrite, b.log.at(v.Number), "a batch that only adds rows removes %d", len(taken))
		}
	case v.MovesOnly():
		r.checked(Rewrite, len(added))
		b.judgeRewrite(v, change, r)
	}
	return nil
}

// judgeRewrite verifies rule 12.
func (b *books) judgeRewrite(v *Version, change map[string]int, r *Report) {
	lost, twice := differences(change)
	if len(lost) > 0 {
		r.broken(Rewrite, b.log.at(v.Number), "it should only move rows and loses %s", some(lost))
	}
	if len(twice) > 0 {
		r.broken(Rewrite, b.log.at(v.Number), "it should only move rows and adds %s", some(twice))
	}
}

// judge verifies rules 9 to 11 on rows that should be those of the model.
func (b *books) judge(where string, have, want []string, r *Report) {
	r.checked(Loss, len(want))
	r.checked(Duplicate, len(have))
	r.checked(Phantom, len(have))
	for _, id := range want {
		b.known[id] = true
	}
	diff := map[string]int{}
	count(diff, have, 1)
	count(diff, want, -1)
	lost, more := differences(diff)
	var twice, phantoms []string
	for _, id := range more {
		if b.known[id] {
			twice = append(twice, id)
		} else {
			phantoms = append(phantoms, id)
		}
	}
	for _, l := range []struct {
		rule Rule
		ids  []string
		what string
	}{{Loss, lost, "rows are missing"}, {Duplicate, twice, "rows are there more than once"}, {Phantom, phantoms, "rows are there that the input does not have"}} {
		if len(l.ids) > 0 {
			r.broken(l.rule, where, "%s: %s", l.what, some(l.ids))
		}
	}
}

// recount makes total anew from the live files. ok is false if a file cannot be read: the reason stays in blind.
func (b *books) recount(ctx context.Context, r *Report) (ok bool, err error) {
	b.blind = ""
	clear(b.total)
	for _, f := range b.log.state.live {
		ids, known, err := b.read(ctx, &f, r)
		if err != nil {
			return false, err
		}
		if !known {
			return false, nil
		}
		count(b.total, ids, 1)
	}
	return true, nil
}

// rows are the ids in total, repeated as often as they are there.
func (b *books) rows() (ids []string) {
	for id, n := range b.total {
		for range n {
			ids = append(ids, id)
		}
	}
	return ids
}

func count(into map[string]int, ids []string, n int) {
	for _, id := range ids {
		into[id] += n
	}
}

// differences are the ids that are too few and too many, sorted.
func differences(diff map[string]int) (few, many []string) {
	for _, id := range slices.Sorted(maps.Keys(diff)) {
		switch n := diff[id]; {
		case n < 0:
			few = append(few, id)
		case n > 0:
			many = append(many, id)
		}
	}
	return few, many
}

// some names the first few ids.
func some(ids []string) string {
	const shown = 5
	text := fmt.Sprintf("%d (%s", len(ids), strings.Join(ids[:min(shown, len(ids))], ", "))
	if len(ids) > shown {
		text += ", ..."
	}
	return text + ")"
}
