package explore

import (
	"flag"
	"runtime/debug"
	"testing"
	"time"

	"microbatch/internal/figures"
)

var (
	full  = flag.Bool("full", false, "explore deep: some minutes")
	depth = flag.Int("depth", 0, "operations of each driver on the stores; 0: what each start says")
)

func TestEveryInterleavingIsExactlyOnce(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // many small worlds, soon forgotten
	for _, s := range Starts() {
		t.Run(s.Name, func(t *testing.T) {
			o := Options{Depth: s.Quick, EndOf: 20}
			if *full {
				o = Options{Depth: s.Full, EndOf: 10}
			}
			if *depth > 0 {
				o.Depth = *depth
			}
			began := time.Now()
			r := Explore(t, s, o)
			t.Logf("%d operations of each driver: %d states, %d transitions, %d leaves, %d endings, the longest schedule has %d, %.1f s",
				o.Depth, r.States, r.Transitions, r.Leaves, r.Endings, r.Depth, time.Since(began).Seconds())
			if r.Failure != nil {
				t.Error(r.Failure)
			}
			figures.Add(t, "model: states", r.States)
			figures.Add(t, "model: transitions", r.Transitions)
			figures.Add(t, "model: states brought to an end", r.Endings)
		})
	}
}
