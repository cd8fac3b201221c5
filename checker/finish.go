package checker

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"sync"
)

// Finish verifies what is too much for every look: it reads all versions and entries again, looks for all files, counts their rows or reads them, and finds
// files that the log does not name. Look again before, so that it is about the newest version.
func (w *Watcher) Finish(ctx context.Context) error {
	again := w.looks > 1 // right after a first look there is nothing to be seen
	if w.query != nil && again {
		if err := w.query.verifyAll(ctx, w.report); err != nil {
			return err
		}
	}
	w.report.Orphans = []string{}
	for _, s := range w.sides() {
		if again {
			if err := s.ledger.log.verifyAll(ctx, w.report); err != nil {
				return err
			}
		}
		orphans, err := s.verifyFiles(ctx, w.report)
		if err != nil {
			return err
		}
		w.judgeOrphans(s, orphans)
		if s.books != nil {
			err = w.verifyRows(ctx, s)
		} else {
			err = s.countFiles(ctx, w.report, w.in.Progress)
		}
		if err != nil {
			return err
		}
	}
	w.summarize()
	return nil
}

func (w *Watcher) judgeOrphans(s *side, keys []string) {
	for _, key := range keys {
		w.report.Orphans = append(w.report.Orphans, s.label+key)
		w.report.checked(Orphan, 1)
		if w.in.Orphan != nil && !w.in.Orphan(orphanOf(key, s == w.reject)) {
			w.report.broken(Orphan, s.label+key, "the log does not name the file, and no attempt that failed has left it")
		}
	}
}

// verifyRows reads all live files afresh and compares their rows with those that were followed.
func (w *Watcher) verifyRows(ctx context.Context, s *side) error {
	followed, foreign := maps.Clone(s.books.total), s.books.foreign
	if s.books.blind != "" {
		followed = nil
	}
	clear(s.books.cache)
	ok, err := s.books.recount(ctx, w.report)
	if err != nil || !ok || followed == nil {
		return err
	}
	w.report.checked(Rewrite, len(followed))
	diff := maps.Clone(s.books.total)
	for id, n := range followed {
		diff[id] -= n
	}
	lost, more := differences(diff)
	where := s.ledger.log.at(s.ledger.log.state.version)
	if len(lost) > 0 {
		w.report.broken(Loss, where, "rows that were there are missing: %s", some(lost))
	}
	if len(more) > 0 {
		w.report.broken(Phantom, where, "rows are there that no version has added: %s", some(more))
	}
	var twice []string
	for id, n := range s.books.total {
		if n > 1 {
			twice = append(twice, id)
		}
	}
	if slices.Sort(twice); len(twice) > 0 && !foreign {
		w.report.broken(Duplicate, where, "ids that occur more than once: %s", some(twice))
	}
	return nil
}

// fileWorkers is how many files are opened at once.
const fileWorkers = 8

// countFiles compares the rows of the live files with what the log says.
func (s *side) countFiles(ctx context.Context, r *Report, progress func(what string, done, all int64)) error {
	files := slices.Collect(maps.Values(s.ledger.log.state.live))
	var mu sync.Mutex // guards r, done, first
	var first error
	done := 0
	next := make(chan *File)
	var workers sync.WaitGroup
	for range fileWorkers {
		workers.Go(func() {
			for f := range next {
				n, err := countRows(ctx, s.store, f.Key)
				mu.Lock()
				if done++; progress != nil && done%256 == 0 {
					progress("files", int64(done), int64(len(files)))
				}
				if err := s.judgeFile(f, n, err, r); err != nil && first == nil {
					first = err
				}
				mu.Unlock()
			}
		})
	}
	for i := range files {
		if files[i].Key != "" && ctx.Err() == nil {
			next <- &files[i]
		}
	}
	close(next)
	workers.Wait()
	return errors.Join(first, ctx.Err())
}

// judgeFile judges a file whose rows were counted. Rows hidden by a deletion vector are still in the file.
func (s *side) judgeFile(f *File, n int64, err error, r *Report) error {
	switch {
	case errors.Is(err, fs.ErrNotExist): // verifyFiles says so
	case isUnreadable(err):
		r.broken(Files, s.label+f.Key, "it cannot be read: %v", err)
	case err != nil:
		return err
	case f.Rows >= 0 && n != f.Rows && f.Vector == "":
		r.broken(Count, s.label+f.Key, "the file holds %d rows, the log says %d", n, f.Rows)
	}
	r.checked(Count, 1)
	return nil
}
