package sourcetest

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/objstore"
	"microbatch/objstore/mem"
	"microbatch/sources"
)

// Subject is a kind of source, and the hands that feed it.
type Subject struct {
	// New makes an instance that is not open yet; the suite opens and closes it. All instances of a test read the same input.
	New func(t *testing.T, alloc memory.Allocator) sources.Source
	// Feed adds something like n rows to the input; it returns when they can be read. It is called once before the first instance is opened.
	Feed func(t *testing.T, n int)
	// Step is a limit that cuts what one Feed of 1000 rows adds into several ranges; the zero value is 100 rows.
	Step sources.Limit
	// Reset makes the input new, so that tests do not see each other's rows. nil: they may.
	Reset func(t *testing.T)
	// Within runs one test, as in a testing/synctest bubble; nil runs it as it is.
	Within func(t *testing.T, test func(*testing.T))
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	if s.Step == (sources.Limit{}) {
		s.Step.Rows = 100
	}
	if s.Within == nil {
		s.Within = func(t *testing.T, test func(*testing.T)) { test(t) }
	}
	for _, c := range []struct {
		name string
		test func(*bench)
	}{
		{"R1 any number of splits yields the same rows", sameRowsForAnyWant},
		{"R1 the rows are the same in another process, after more input", sameRowsLater},
		{"R1 ranges may be read in any order, at once", rangesInAnyOrder},
		{"R1 a range that is empty holds no rows", emptyRange},
		{"R2 offsets are canonical JSON", canonicalOffsets},
		{"R3 ranges follow each other without a hole", rangesWithoutHoles},
		{"R3 a frozen source never passes what was there", frozenEnd},
		{"R4 Open writes nothing, and what Pin wrote decides", initialPosition},
		{"R5 positions add up to the plan", positionsAddUp},
		{"R5 a split that is left early disturbs no other", leftEarly},
		{"R6 Release forgets nothing that follows", releaseForgetsTheRest},
		{"a cancelled context ends a split", cancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.Within(t, func(t *testing.T) {
				if s.Reset != nil {
					s.Reset(t)
				}
				alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
				t.Cleanup(func() { alloc.AssertSize(t, 0) })
				s.Feed(t, 1000)
				c.test(&bench{T: t, subject: s, alloc: alloc, own: mem.New()})
			})
		})
	}
}

// bench is one test at work.
type bench struct {
	*testing.T
	subject Subject
	alloc   memory.Allocator
	own     objstore.Store
}

// open is an instance as a process would have it: opened and pinned, closed at the end of the test.
func (b *bench) open() sources.Source {
	b.Helper()
	src := b.unpinned()
	if err := src.Pin(b.Context()); err != nil {
		b.Fatalf("Pin: %v", err)
	}
	return src
}

func (b *bench) unpinned() sources.Source {
	b.Helper()
	src := b.subject.New(b.T, b.alloc)
	if err := src.Open(b.Context(), b.own); err != nil {
		b.Fatalf("Open: %v", err)
	}
	b.Cleanup(func() {
		if err := src.Close(); err != nil {
			b.Errorf("Close: %v", err)
		}
	})
	return src
}
