package sim

import (
	"fmt"
	"strings"
	"time"
)

// stats count what the runs have seen.
type stats struct {
	seeds, batches, operations, versions int
	faults                               [kinds][phases]int
	ends                                 map[string]int // drivers that ended, by code
	fenced, woken                        int
	simulated                            time.Duration
}

func (s *stats) init() { s.ends, s.seeds = map[string]int{}, 1 }

func (s *stats) add(o stats) {
	s.seeds += o.seeds
	s.batches += o.batches
	s.operations += o.operations
	s.versions += o.versions
	s.fenced += o.fenced
	s.woken += o.woken
	s.simulated += o.simulated
	for k := range o.faults {
		for p := range o.faults[k] {
			s.faults[k][p] += o.faults[k][p]
		}
	}
	for c, n := range o.ends {
		s.ends[c] += n
	}
}

func (s *stats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seeds %d, batches %d, operations %d, versions %d, fenced %d, woken %d, simulated hours %.0f\n", s.seeds, s.batches, s.operations, s.versions, s.fenced, s.woken, s.simulated.Hours())
	fmt.Fprintf(&b, "ends %v\n%-10s", s.ends, "")
	for p := range phases {
		fmt.Fprintf(&b, "%9s", p)
	}
	for k := range kinds {
		fmt.Fprintf(&b, "\n%-10s", k)
		for p := range phases {
			fmt.Fprintf(&b, "%9d", s.faults[k][p])
		}
	}
	return b.String() + "\n"
}
