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

// check looks at what is new.
func (s *simulation) check() error {
	err := s.rejected.advance(func(id int64, b landed) error { return s.checkRejected(id, b) })
	if err == nil {
		err = s.out.look()
	}
	return err
}

// hasRejected makes sure that the rejected rows of a batch are visible, now that the batch is.
func (s *simulation) hasRejected(id int64, e expectation) error {
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
	begin, err := s.endOf(id - 1)
	if err != nil {
		return expectation{}, fmt.Errorf("batch %d: %w", id, err)
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
func sameRows(what string, got []string, want state) error {
	for i, r := range got {
		if i > 0 && got[i-1] == r {
			return fmt.Errorf("%s: %q stands there twice", what, r)
		}
		if _, ok := want[r]; !ok {
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
	table := s.rejected
	if main, ok := s.out.(*tableOutput); ok && w.Place == world.Table {
		table = main.witness
	}
	if w.Place != table.place {
		return
	}
	if !strings.HasSuffix(w.Key, ".parquet") || strings.HasPrefix(w.Key, "_") {
		if s.referee != nil { // entries of the log go, which the checker has to have seen
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

// verdict is the last look, when all is quiet.
func (s *simulation) verdict() error {
	if err := errors.Join(s.rejected.unchanged(), s.rejected.whole()); err != nil {
		return err
	}
	if err := s.out.verdict(); err != nil {
		return err
	}
	last := s.out.newest()
	if !s.AtMostOnce { // the rejected rows of a batch that is lost may be there or not
		e, err := s.expect(s.in, nil, s.ends[last])
		if err != nil {
			return err
		}
		if n := s.rejected.count(); n != len(e.rejected) {
			return fmt.Errorf("%d rejected rows in the end, %d should be there", n, len(e.rejected))
		}
	}
	for id := max(0, last-50); id <= last; id++ {
		if !s.recorded(id) {
			return fmt.Errorf("batch %d is not recorded", id)
		}
	}
	if s.fixed(last + 1) {
		return fmt.Errorf("batch %d is fixed, and has not taken effect", last+1)
	}
	return nil
}

// progress checks a report. The scheduler waits meanwhile, and has seen the batch in the table.
func (s *simulation) progress(a *actor, p engine.Progress) {
	if p.Attempts == 0 { // it was visible already, and was not counted
		return
	}
	if p.InputRows != p.Decoded+p.Rejected || p.Decoded != p.Sink.Rows+p.Sink.Dropped+p.Filtered {
		s.violate("%s: batch %d does not add up: %d read, %d decoded, %d rejected, %d filtered, %d out, %d dropped", a.Name, p.Batch, p.InputRows, p.Decoded, p.Rejected, p.Filtered, p.Sink.Rows, p.Sink.Dropped)
	}
	if err := s.changes(p); err != nil {
		s.violate("%s: batch %d: %v", a.Name, p.Batch, err)
	}
	id := int64(p.Batch)
	begin, beginErr := s.endOf(id - 1)
	end, err := s.endOf(id)
	var e expectation
	if err = errors.Join(beginErr, err); err == nil {
		e, err = s.expect(s.in, begin, end)
	}
	if err != nil || p.InputRows != e.read || p.Rejected != int64(len(e.rejected)) || p.Filtered != e.filtered {
		s.violate("%s: batch %d: %d read, %d rejected, %d filtered, instead of %d, %d, %d: %v", a.Name, id, p.InputRows, p.Rejected, p.Filtered, e.read, len(e.rejected), e.filtered, err)
	}
}

// changes compares what a report says of the rows that the output had with the model, where nobody else has changed them.
func (s *simulation) changes(p engine.Progress) error {
	c := p.Sink.Changes
	if c == nil {
		return nil
	}
	if c.Sum() != p.Sink.Rows {
		return fmt.Errorf("%d rows out, of which %+v", p.Sink.Rows, *c)
	}
	if !s.keyed() || s.AtMostOnce || s.tables() && s.littered {
		return nil
	}
	var sizes []int
	for _, id := range []int64{int64(p.Batch) - 1, int64(p.Batch)} {
		end, err := s.endOf(id)
		if err != nil {
			return err
		}
		left, err := s.left(end)
		if err != nil {
			return err
		}
		sizes = append(sizes, len(left))
	}
	if grown := int64(sizes[1] - sizes[0]); c.Inserted != grown || c.Deleted != 0 {
		return fmt.Errorf("%+v, and the output has grown by %d", *c, grown)
	}
	return nil
}
