package e2e

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// killing kills the program again and again with work left.
type killing struct {
	file  string
	env   []string
	args  []string
	kills int
	rng   *rand.Rand
	// feed adds input before each run, more than a run takes until it is killed, so that there is always work left. Nil: the input comes by itself.
	feed func()
}

// window are the fault points between the sink's commit and the record of the batch.
var window = []string{"commit.after", "record.before", "record.swept", "commit.rejected"}

// newRand prints the seed that repeats a run.
func newRand(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// run kills the program k.kills times: three in four at a random moment after a few batches, one in four at a point between commit and record. It returns
// how many kills fell into that window for certain.
func (k killing) run(t *testing.T) (inWindow int) {
	t.Helper()
	for n := range k.kills {
		if k.feed != nil {
			k.feed()
		}
		if n%4 == 1 {
			point := window[k.rng.IntN(2)]
			env := append(k.env, fmt.Sprintf("MICROBATCH_FAILPOINT=%s:kill:%d", point, 1+k.rng.IntN(3)))
			c := start(t, env, k.file, k.args...)
			if code := c.exit(); code != -1 {
				t.Fatalf("kill %d at %s: it ended with exit code %d instead; stderr:\n%s", n, point, code, c.stderr.String())
			}
			inWindow++
			continue
		}
		c := start(t, k.env, k.file, k.args...)
		for range 1 + k.rng.IntN(3) {
			if !c.batch(60 * time.Second) {
				t.Fatalf("kill %d: it ended by itself; stderr:\n%s", n, c.stderr.String())
			}
		}
		moment := time.NewTimer(time.Duration(k.rng.IntN(60)) * time.Millisecond)
		<-moment.C
		c.kill()
	}
	return inWindow
}
