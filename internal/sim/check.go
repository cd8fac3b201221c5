package sim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"microbatch/engine"
	"microbatch/ident"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/world"
)

// check looks at what is new in the tables.
func (s *simulation) check() error {
	err := s.main.advance(func(id int64, b landed) error { return s.checkBatch(id, b) })
	if err == nil {
		err = s.rejected.advance(func(id int64, b landed) error { return s.checkRejected(id, b) })
	}
	if err == nil && s.referee != nil && !s.broken {
		err = s.referee.look(false)
	}
	return err
}

// checkBatch compares a batch with the model.
func (s *simulation) checkBatch(id int64, b landed) error {
	if prev := int64(len(s.main.batches)) - 1; id != prev {
		return fmt.Errorf("batch %d follows batch %d", id, prev-1)
	}
	e, err := s.expected(id, b.text)
	if err != nil {
		return err
	}
	if err := sameRows(fmt.Sprintf("batch %d", id), b.rows, e.rows); err != nil {
		if !s.changed || sameRows("", b.rows, e.changed) != nil {
			return err
		}
	}
	if _, ok := s.rejected.batches[id]; !ok && len(e.rejected) > 0 {
		return fmt.Errorf("batch %d is visible, and its %d rejected rows are not", id, len(e.rejected))
	}
	return nil
}

func (s *simulation) checkRejected(id int64, b landed) error {
	e, err := s.expected(id, b.text)
	if err != nil {
		return err
	}
	return sameRows(fmt.Sprintf("rejected rows of batch %d", id), b.rows, e.rejected)
}

// expected is what a batch holds whose entry of the checkpoint has a text; the text is that of the checkpoint, if it is still there.
func (s *simulation) expected(id int64, text string) (expectation, error) {
	end, err := s.endsOf(text)
	if err != nil {
		return expectation{}, err
	}
	stored, err := s.world.Store(world.Checkpoint).Get(context.Background(), fmt.Sprintf("offsets/%d", id))
	if err == nil && string(stored) != text {
		return expectation{}, fmt.Errorf("offsets/%d is not what batch %d was made from", id, id)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return expectation{}, err
	}
	begin, ok := s.ends[id-1]
	if !ok && id > 0 {
		return expectation{}, fmt.Errorf("batch %d comes before batch %d", id, id-1)
	}
	if was, ok := s.ends[id]; ok && !slices.Equal(was, end) {
		return expectation{}, fmt.Errorf("batch %d ended at %v and ends at %v", id, was, end)
	}
	s.ends[id] = end
	return s.expect(s.in, begin, end)
}

// endsOf reads the end of the source from the text of an entry of offsets.
func (s *simulation) endsOf(text string) (out []int64, err error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 3 {
		return nil, fmt.Errorf("the entry has %d lines: %q", len(lines), text)
	}
	return s.in.parse(ident.Offset(lines[2]))
}

// sameRows compares sorted rows with a set.
func sameRows(what string, got []string, want map[string]bool) error {
	for i, r := range got {
		if i > 0 && got[i-1] == r {
			return fmt.Errorf("%s: %q stands there twice", what, r)
		}
		if !want[r] {
			return fmt.Errorf("%s: %q should not be there", what, r)
		}
	}
	if len(got) != len(want) {
		for r := range want {
			if _, ok := slices.BinarySearch(got, r); !ok {
				return fmt.Errorf("%s: %d rows instead of %d: %q is missing", what, len(got), len(want), r)
			}
		}
	}
	return nil
}

// checkDelete looks at what is about to be deleted from a table: nothing that is part of it, or that a put which is still under way would make part of it.
func (s *simulation) checkDelete(w *gate.Waiting) {
	table := map[string]*witness{world.Table: s.main, world.Rejected: s.rejected}[w.Place]
	if table == nil {
		return
	}
	if !strings.HasSuffix(w.Key, ".parquet") || strings.HasPrefix(w.Key, "_") {
		if s.referee != nil && !s.broken { // entries of the log go, which the checker has to have seen
			if err := s.referee.look(true); err != nil {
				s.violate("%v", err)
			}
		}
		return
	}
	name := path.Base(w.Key)
	for file := range table.live {
		if path.Base(file) == name {
			s.violate("%s: the file is part of version %d", w, table.next-1)
		}
	}
	for _, l := range s.lates {
		if l.Place != w.Place || l.Kind != "putifabsent" || !strings.Contains(string(l.Data), name) {
			continue
		}
		if _, err := s.world.Store(l.Place).Stat(context.Background(), l.Key); errors.Is(err, fs.ErrNotExist) {
			s.violate("%s: the file is named by a put of %s that is still under way", w, l.Key)
		}
	}
}

// called checks a call of the user's function.
func (s *simulation) called(id int64, digest string, rows []string) error {
	slices.Sort(rows)
	c := call{digest, strings.Join(rows, "\n")}
	if was, ok := s.calls[id]; ok {
		if was != c {
			s.violate("batch %d was handed over with other rows, or another digest, than before", id)
		}
		return nil
	}
	if id != int64(len(s.calls)) {
		s.violate("batch %d was handed over after batch %d", id, len(s.calls)-1)
	}
	s.calls[id] = c
	text, err := s.world.Store(world.Checkpoint).Get(context.Background(), fmt.Sprintf("offsets/%d", id))
	if err != nil {
		s.violate("batch %d was handed over, and offsets/%d: %v", id, id, err)
		return nil
	}
	e, err := s.expected(id, string(text))
	if err == nil {
		err = sameRows(fmt.Sprintf("batch %d", id), rows, e.rows)
	}
	if err != nil {
		s.violate("%v", err)
	}
	return nil
}

// verdict is the last look, when all is quiet.
func (s *simulation) verdict() error {
	for _, w := range []*witness{s.main, s.rejected} {
		if err := errors.Join(w.unchanged(), w.whole()); err != nil {
			return err
		}
	}
	if s.referee != nil {
		if err := s.referee.finish(); err != nil {
			return err
		}
		if orphans := s.referee.orphans(); s.Format == "parquet" && !s.littered && len(orphans) > 0 {
			return fmt.Errorf("files that no version names are left: %v", orphans)
		}
	}
	last := int64(s.batches()) - 1
	e, err := s.expect(s.in, nil, s.ends[last])
	if err != nil {
		return err
	}
	if n := s.rejected.count(); n != len(e.rejected) {
		return fmt.Errorf("%d rejected rows in the end, %d should be there", n, len(e.rejected))
	}
	if s.Format != "foreachbatch" {
		if n := s.main.count(); n != len(e.rows)+s.main.foreign {
			return fmt.Errorf("%d rows in the end, %d should be there, and %+d by foreign writers", n, len(e.rows), s.main.foreign)
		}
	}
	for id := max(0, last-50); id <= last; id++ {
		if _, err := s.world.Store(world.Checkpoint).Stat(context.Background(), fmt.Sprintf("commits/%d", id)); err != nil {
			return fmt.Errorf("batch %d is not recorded: %w", id, err)
		}
	}
	return nil
}

// progress checks a report. The scheduler waits meanwhile, and has seen the batch in the table.
func (s *simulation) progress(a *actor, p engine.Progress) {
	if p.Attempts == 0 { // it was visible already, and was not counted
		return
	}
	if p.InputRows != p.Decoded+p.Rejected || p.Decoded != p.Sink.Rows+p.Filtered {
		s.violate("%s: batch %d does not add up: %d read, %d decoded, %d rejected, %d filtered, %d out", a.Name, p.Batch, p.InputRows, p.Decoded, p.Rejected, p.Filtered, p.Sink.Rows)
	}
	id := int64(p.Batch)
	e, err := s.expect(s.in, s.ends[id-1], s.ends[id])
	if err != nil || p.InputRows != e.read || p.Rejected != int64(len(e.rejected)) || p.Filtered != e.filtered {
		s.violate("%s: batch %d: %d read, %d rejected, %d filtered, instead of %d, %d, %d: %v", a.Name, id, p.InputRows, p.Rejected, p.Filtered, e.read, len(e.rejected), e.filtered, err)
	}
}
