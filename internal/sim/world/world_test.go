package world_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"microbatch/engine"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/world"
)

// TestARunIsRepeatable: with the same seed, all operations of all goroutines come in the same order, to the byte of every random name.
func TestARunIsRepeatable(t *testing.T) {
	for _, medium := range []world.Medium{world.Objects, world.Disk} {
		t.Run(medium.String(), func(t *testing.T) {
			var traces [2][]string
			for i := range traces {
				t.Run(fmt.Sprint(i), func(t *testing.T) { traces[i] = run(t, medium) })
			}
			if diff := cmp.Diff(traces[0], traces[1]); diff != "" {
				t.Errorf("the second run differs (-first +second):\n%s", diff)
			}
		})
	}
}

// run is a query that catches up with 100 rows in batches of 10, scheduled at random.
func run(t *testing.T, medium world.Medium) (trace []string) {
	cryptotest.SetGlobalRandom(t, 7)
	synctest.Test(t, func(t *testing.T) {
		w := world.New(medium, 2)
		w.Topic.Produce(0, 70)
		w.Topic.Produce(1, 30)
		w.Topic.Bad = func(_ int, n int64) bool { return n%9 == 4 }
		floor := &gate.Floor{}
		p := gate.NewProcess("a", floor)
		q := w.Query(p)
		q.Trigger, q.Limit.Rows = engine.Trigger{Once: true}, 10
		done := make(chan error, 1)
		go func() { done <- q.Run(context.Background()) }()
		random := rand.New(rand.NewPCG(1, 2))
		for {
			synctest.Wait()
			select {
			case err := <-done:
				if err != nil {
					t.Error(err)
				}
				return
			default:
			}
			waiting := floor.Waiting()
			if len(waiting) == 0 {
				time.Sleep(10 * time.Millisecond)
				continue
			}
			next := waiting[random.IntN(len(waiting))]
			trace = append(trace, next.String())
			next.Let(gate.Verdict{})
		}
	})
	if !slices.ContainsFunc(trace, func(s string) bool { return s == "a checkpoint putifabsent commits/9" }) {
		t.Errorf("batch 9 was not recorded:\n%v", trace)
	}
	return trace
}
