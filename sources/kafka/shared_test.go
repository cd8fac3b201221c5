package kafka

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"microbatch/ident"
	"microbatch/objstore"
	"microbatch/sources"
)

// What the tests on the fake of a cluster, which are in this package, and those on the model, which are outside of it, have in common.

// Notices keeps what a source says.
type Notices struct {
	mu   sync.Mutex
	said []string
}

// Notice is for a Config.
func (n *Notices) Notice(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.said = append(n.said, text)
}

// Said is everything so far.
func (n *Notices) Said() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.said)
}

// Noticed reports a notice that holds all the words.
func (n *Notices) Noticed(words ...string) bool {
	return slices.ContainsFunc(n.Said(), func(text string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	})
}

// OpenAndPin is for a source that was just made. It is closed with the test.
func OpenAndPin(t *testing.T, s *Source, own objstore.Store) *Source {
	t.Helper()
	if err := s.Open(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Pin(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// PlanOf is a range of at most so many rows.
func PlanOf(t *testing.T, s *Source, from ident.Offset, most int64) sources.Planned {
	t.Helper()
	p, err := s.Plan(t.Context(), from, sources.Limit{Rows: most})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ReadIDs are the ids of a range, sorted, after a check that the positions add up.
func ReadIDs(ctx context.Context, s *Source, from ident.Offset, p sources.Planned) ([]int, error) {
	splits, err := s.Splits(ctx, from, p.To, p.Aux, 2)
	if err != nil {
		return nil, err
	}
	var ids []int
	covered, want := int64(0), int64(0)
	for _, split := range splits {
		for chunk, err := range split.Records(ctx) {
			if err != nil {
				return nil, err
			}
			if chunk.Record != nil {
				for _, id := range chunk.Record.Column(0).(interface{ Int64Values() []int64 }).Int64Values() {
					ids = append(ids, int(id))
				}
			}
			chunk.Release()
		}
		want = 0
		for _, u := range split.Reached().Units {
			covered, want = covered+u.Covered, want+u.Want
		}
	}
	if covered != want {
		return nil, fmt.Errorf("covered %d of %d offsets", covered, want)
	}
	slices.Sort(ids)
	return ids, nil
}

// Numbers are those of [from, to).
func Numbers(from, to int) []int {
	var n []int
	for ; from < to; from++ {
		n = append(n, from)
	}
	return n
}

// Contains reports whether an error says all the words.
func Contains(err error, words ...string) bool {
	return err != nil && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(err.Error(), w) })
}
