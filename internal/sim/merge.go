package sim

import (
	"maps"
	"slices"
	"strings"
)

// made is a row that a batch makes.
type made struct {
	text string // by which it is compared
	id   string // which decides between rows of one key
	key  string
}

// state is the rows that an output holds, and the key of each.
type state map[string]string

// keyed: rows of one key are one in the output.
func (o options) keyed() bool {
	return o.Mode == "upsert" || o.Mode == "deduplicate" || o.Mode == "ledger"
}

// replaces: a batch may take rows out of the output.
func (o options) replaces() bool { return o.Mode == "upsert" || o.Mode == "overwrite" }

// merge is what a batch makes of the rows that are there.
func (o options) merge(before state, batch []made) state {
	after := state{}
	if o.Mode != "overwrite" {
		after = maps.Clone(before)
	}
	if !o.keyed() {
		for _, m := range batch {
			after[m.text] = m.key
		}
		return after
	}
	first := map[string]made{} // of each key the row that counts
	for _, m := range batch {
		was, ok := first[m.key]
		if !ok || o.Mode == "upsert" && m.id > was.id || o.Mode != "upsert" && m.id < was.id {
			first[m.key] = m
		}
	}
	known := map[string]bool{}
	for text, key := range before {
		known[key] = true
		if _, ok := first[key]; ok && o.Mode == "upsert" {
			delete(after, text)
		}
	}
	for key, m := range first {
		if o.Mode == "upsert" || !known[key] {
			after[m.text] = key
		}
	}
	return after
}

// setOf are the rows of a batch.
func setOf(batch []made) state {
	out := state{}
	for _, m := range batch {
		out[m.text] = m.key
	}
	return out
}

// keyOf reads a column from the text of a row; "" if it is null.
func keyOf(text, column string) string {
	for field := range strings.FieldsSeq(text) {
		if v, ok := strings.CutPrefix(field, column+"="); ok {
			return v
		}
	}
	return ""
}

// left are the ids of the rows that the batches up to one leave, which ends where it is said; nil if that is all of them.
func (s *simulation) left(end []int64) (state, error) {
	if s.Mode == "" || s.Mode == "append" {
		return nil, nil
	}
	last := int64(-1)
	for id, at := range s.ends {
		if slices.Equal(at, end) {
			last = max(last, id)
		}
	}
	for id := int64(len(s.leaves)); id <= last; id++ {
		before := state{}
		if id > 0 {
			before = s.leaves[id-1]
		}
		if s.lost[id] {
			s.leaves = append(s.leaves, before)
			continue
		}
		begin, err := s.endOf(id - 1)
		if err != nil {
			return nil, err
		}
		end, err := s.endOf(id)
		if err != nil {
			return nil, err
		}
		e, err := s.expect(s.in, begin, end)
		if err != nil {
			return nil, err
		}
		s.leaves = append(s.leaves, s.merge(before, byID(e.made)))
	}
	if last < 0 {
		return state{}, nil
	}
	return s.leaves[last], nil
}

// byID are rows of which only the id is compared.
func byID(batch []made) (out []made) {
	for _, m := range batch {
		out = append(out, made{m.id, m.id, m.key})
	}
	return out
}
