package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"microbatch/internal/sim/world"
)

// The counts of stats.
const (
	countSeeds      = "seeds"
	countBatches    = "batches"
	countOperations = "operations"
	countVersions   = "versions checked"
	countHours      = "simulated hours"
	countStarts     = "drivers started"
	countTakeovers  = "takeovers" // starts after the first
	countFenced     = "zombies fenced"
	countWoken      = "paused processes woken"
	countKills      = "kills"
	countPower      = "power losses"
	countAmbiguous  = "ambiguous puts resolved"
	countFaults     = "faults"
	countLost       = "batches lost by at most once"
	countViolations = "violations"
)

// stats count what runs have seen. They go from one process to another as JSON.
type stats struct {
	Counts map[string]int
	Ends   map[string]int // drivers that ended with an error, by code
	Faults [kinds][phases]int
	Sinks  map[string]sinkStats // by where and how rows are put
}

// sinkStats count the runs that write to one sink in one way.
type sinkStats struct {
	Seeds, Batches int
	Faults         [kinds]int
}

func newStats() stats {
	return stats{Counts: map[string]int{}, Ends: map[string]int{}, Sinks: map[string]sinkStats{}}
}

func (s *stats) add(o stats) {
	for name, n := range o.Counts {
		s.Counts[name] += n
	}
	for code, n := range o.Ends {
		s.Ends[code] += n
	}
	for k := range o.Faults {
		for p, n := range o.Faults[k] {
			s.Faults[k][p] += n
		}
	}
	for name, n := range o.Sinks {
		all := s.Sinks[name]
		all.Seeds += n.Seeds
		all.Batches += n.Batches
		for k := range n.Faults {
			all.Faults[k] += n.Faults[k]
		}
		s.Sinks[name] = all
	}
}

// sum says that what was counted is of one run, and where that wrote.
func (s *stats) sum(sink string) {
	n := sinkStats{Seeds: 1, Batches: s.Counts[countBatches]}
	for k, in := range s.Faults {
		for _, faults := range in {
			n.Faults[k] += faults
		}
	}
	s.Sinks[sink] = n
}

// fault counts one.
func (s *stats) fault(f fault) {
	s.Faults[f.Kind][f.Phase]++
	s.Counts[countFaults]++
	switch f.Kind {
	case die, dieDone, inside:
		s.Counts[countKills]++
	case power, torn:
		s.Counts[countPower]++
	}
}

// String is the counts, then the table of faults by phase, then that by sink.
func (s *stats) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.Counts)) {
		fmt.Fprintf(&b, "%-24s %d\n", name, s.Counts[name])
	}
	b.WriteString("drivers that ended with an error, by code:")
	for _, code := range slices.Sorted(maps.Keys(s.Ends)) {
		fmt.Fprintf(&b, " %s %d", code, s.Ends[code])
	}
	fmt.Fprintf(&b, "\n%-10s", "")
	for p := range phases {
		fmt.Fprintf(&b, "%9s", p)
	}
	for k := range kinds {
		fmt.Fprintf(&b, "\n%-10s", k)
		for p := range phases {
			if !occurs(k, p) {
				fmt.Fprintf(&b, "%9s", "-")
				continue
			}
			fmt.Fprintf(&b, "%9d", s.Faults[k][p])
		}
	}
	fmt.Fprintf(&b, "\n%-20s%7s%9s", "", "seeds", "batches")
	for k := range kinds {
		fmt.Fprintf(&b, "%*s", len(k.String())+2, k)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Sinks)) {
		n := s.Sinks[name]
		fmt.Fprintf(&b, "\n%-20s%7d%9d", name, n.Seeds, n.Batches)
		for k := range kinds {
			fmt.Fprintf(&b, "%*d", len(k.String())+2, n.Faults[k])
		}
	}
	return b.String() + "\n"
}

// missing are the kinds of faults that never hit a phase, or a sink, where they can occur.
func (s *stats) missing() (out []string) {
	for k := range kinds {
		for p := range phases {
			if occurs(k, p) && s.Faults[k][p] == 0 {
				out = append(out, fmt.Sprintf("%s in %s", k, p))
			}
		}
		for _, to := range destinations {
			if s.Sinks[to.writes()].Faults[k] == 0 && slices.ContainsFunc(allPhases(), func(p phase) bool { return occursTo(to, k, p) }) {
				out = append(out, fmt.Sprintf("%s of a query that writes to %s", k, to.writes()))
			}
		}
	}
	return slices.Compact(out)
}

// occurs reports whether a kind can occur in a phase at all.
func occurs(k kind, p phase) bool {
	return slices.ContainsFunc(destinations, func(to destination) bool { return occursTo(to, k, p) })
}

// occursTo reports whether a kind can occur in a phase of a run that writes there.
func occursTo(to destination, k kind, p phase) bool {
	for _, medium := range []world.Medium{world.Objects, world.Disk} {
		if possible(k, p, options{Medium: medium, Sink: to.sink, Mode: to.mode, Kafka: true}) {
			return true
		}
	}
	return false
}

func allPhases() (out []phase) {
	for p := range phases {
		out = append(out, p)
	}
	return out
}
