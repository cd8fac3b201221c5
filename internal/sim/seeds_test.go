package sim

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
)

var (
	seeds = flag.Uint64("seeds", 40, "how many seeds")
	first = flag.Uint64("first", 1, "the first seed")
)

// runOptions does one run, in a bubble of its own.
func runOptions(t *testing.T, o options) (out outcome) {
	t.Run(fmt.Sprint(o.Seed), func(t *testing.T) {
		cryptotest.SetGlobalRandom(t, o.Seed)
		synctest.Test(t, func(*testing.T) { out = simulate(o) })
	})
	return out
}

func TestSeeds(t *testing.T) {
	var total stats
	total.ends = map[string]int{}
	failed := 0
	for seed := *first; seed < *first+*seeds; seed++ {
		o := derive(seed)
		out := runOptions(t, o)
		total.add(out.stats)
		if out.violation != nil {
			if failed++; failed <= 3 {
				t.Errorf("seed %d: %v\n%s%s", seed, out.violation, o, strings.Join(out.trace, "\n"))
			} else {
				t.Errorf("seed %d: %v", seed, out.violation)
			}
		}
	}
	t.Logf("%s", total.String())
}
