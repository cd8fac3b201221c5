package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"microbatch/internal/errcode"
	"microbatch/internal/failpoint"
)

// append makes the next entry of the seen-log (F1). If somebody else has made it, theirs counts (F2): the log is read anew.
func (s *Source) append(ctx context.Context, entry []file) error {
	if !s.pinned { // (F4)
		s.took(s.tail+1, entry)
		return nil
	}
	lines, err := renderLines(s.root, s.tail+1, entry)
	if err != nil {
		return err
	}
	failpoint.Hit("files.append.before")
	id, err := s.log.Append(ctx, lines)
	switch {
	case errors.Is(err, fs.ErrExist):
		if err := s.load(ctx); err != nil {
			return err
		}
		return s.log.Sync(ctx)
	case err != nil: // the entry may be there or not: the next plan finds out by trying the same id
		return fmt.Errorf("files source: %w", err)
	}
	failpoint.Hit("files.append.after")
	s.took(id, entry)
	s.purge = s.purge || (id+1)%compactInterval == 0
	return nil
}

// took notes a new entry, whose files are the first of the backlog.
func (s *Source) took(id int64, entry []file) {
	s.tail = id
	s.entries[id] = entry
	for _, f := range entry {
		s.seen.add(f)
	}
	s.dropSeen()
}

// entry is the files of an entry.
func (s *Source) entry(ctx context.Context, id int64) ([]file, error) {
	if entry, ok := s.entries[id]; ok {
		return entry, nil
	}
	var entry []file
	err := s.log.Read(ctx, id, func(text []byte) error {
		f, of, err := parseLine(s.root, text)
		if of == id {
			entry = append(entry, f)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errcode.SeenLogBehind.Wrap(err, s.own.URL(), "entry %d is gone", id)
	}
	if err != nil {
		return nil, seenLogError(err)
	}
	s.entries[id] = entry
	return entry, nil
}

// seenLogError gives an error of reading the seen-log its code, unless it has one or is none of the log's making.
func seenLogError(err error) error {
	if _, coded := errors.AsType[*errcode.Error](err); coded || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("files source: %w", err)
	}
	return errcode.SeenLogDamaged.Wrap(err, "", "")
}
