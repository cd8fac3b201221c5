package checker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"microbatch/objstore"
)

// side is one of the two tables of a query: the main one, or that of rejected rows.
type side struct {
	store   objstore.Store
	format  Format // "": not known yet
	label   string // before places in messages
	suffix  string // of the query id in the log
	columns []string
	ledger  *ledger // nil until there is a table
	books   *books  // nil: rows are not told apart
	fresh   []int64 // batches read since they were judged
	began   bool    // what lies before the log's beginning was told
	was     map[int64]seenFile
	foreign func(v *Version) bool // nil: any version of another writer may be there
}

// look reads what has come in the table. query is its query id, "" if that is not known yet: then the first that has committed is taken.
func (s *side) look(ctx context.Context, query string, r *Report, progress func(what string, done, all int64)) error {
	if s.ledger == nil {
		if s.format == "" {
			format, err := detect(ctx, s.store)
			if errors.Is(err, errNoTable) {
				s.was = nil
				return nil
			}
			if err != nil {
				return err
			}
			s.format = format
		}
		log := newTableLog(s.store, s.format, s.label)
		log.was = s.was
		s.ledger = &ledger{log: log, sparse: s.suffix != "", facts: map[int64]*fact{}, lost: map[int64]bool{}}
		if s.columns != nil {
			s.books = newBooks(log, s.columns)
		}
	}
	l := s.ledger
	if l.app == "" && query != "" {
		l.app = query + s.suffix
	}
	return l.log.look(ctx, r, follower{
		begin: s.begin,
		past:  func(v *Version) { l.adopt(v); l.judge(v, nil, false, r); l.note(v) },
		next: func(v *Version, before map[string]int64, removed []File) error {
			return s.next(ctx, v, before, removed, r)
		},
		progress: progress,
	})
}

// begin starts from a log checkpoint: which rows stand in its files is found out after the look.
func (s *side) begin(from *state) error {
	if s.books != nil && len(from.live) > 0 {
		s.books.blind = fmt.Sprintf("the log begins at version %d", from.version)
	}
	return nil
}

func (s *side) next(ctx context.Context, v *Version, before map[string]int64, removed []File, r *Report) error {
	l := s.ledger
	l.adopt(v)
	l.judge(v, before, l.log.base < 0, r)
	f := l.note(v)
	if f != nil {
		l.judgeCounts(v, f, removed, r)
		s.fresh = append(s.fresh, v.Txns[l.app])
	} else if len(v.Adds)+len(v.Removes) > 0 && !v.MovesOnly() && s.foreign != nil && !s.foreign(v) {
		r.broken(Phantom, l.log.at(v.Number), "another writer changes rows: it adds %d files and removes %d (%s)", len(v.Adds), len(v.Removes), v.Operation)
	}
	if s.books == nil {
		return nil
	}
	return s.books.next(ctx, v, removed, f, r)
}

// verifyFiles verifies that all live files are there, as long as the log says, and returns the data files that the log does not name.
func (s *side) verifyFiles(ctx context.Context, r *Report) (orphans []string, err error) {
	if s.ledger == nil || s.ledger.log.state == nil {
		return nil, nil
	}
	state := s.ledger.log.state
	named := make(map[string]*File, len(state.live))
	for _, f := range state.live {
		named[f.Key] = &f
	}
	for path := range state.gone {
		key, _ := keyOf(path)
		if named[key] == nil {
			named[key] = nil
		}
	}
	there := 0
	for info, err := range s.store.List(ctx, "", "") {
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("checker: list %s: %w", s.store.URL(), err)
		}
		switch f, ok := named[info.Key]; {
		case !ok && isData(info.Key):
			orphans = append(orphans, info.Key)
		case f != nil:
			there++
			if f.Size >= 0 && f.Size != info.Size {
				r.broken(Files, s.label+f.Key, "it is %d bytes long, the log says %d", info.Size, f.Size)
			}
			delete(named, info.Key)
		}
	}
	r.checked(Files, there)
	for key, f := range named {
		if f != nil {
			r.broken(Files, s.label+key, "the file is part of version %d and is missing", state.version)
		}
	}
	return orphans, nil
}

// seen are the versions read, as they were.
func (s *side) seen() map[int64]seenFile {
	if s.ledger == nil {
		return s.was
	}
	return s.ledger.log.seen
}
