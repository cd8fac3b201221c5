//go:build bugs

package explore

import (
	"strings"
	"testing"

	"microbatch/internal/bugs"
)

// TestTheExplorerFindsSeededBugs: each of them shows itself in one of the starts, and the schedule that shows it is as short as any. Without the bug the same states are in order.
func TestTheExplorerFindsSeededBugs(t *testing.T) {
	for _, c := range []struct {
		bug   bugs.Bug
		start string // the beginning of its name
	}{
		{bugs.SkipTxn, "both are about to make"},
		{bugs.TxnCheckedOnce, "a and b are about to commit"},
		{bugs.DeleteUnknown, "a and b are about to commit"},
		{bugs.RecordFirst, "batch 1 is pending"},
		{bugs.Replan, "batch 1 is pending"},
		{bugs.PurgeReopens, "a was about to fix batch 1 when it fell asleep"},
		{bugs.NoEpoch, "a is about to commit batch 1, whose entry was torn"},
		{bugs.TrustTheListing, "both are about to make"},
		{bugs.NoLookBack, "a was about to commit batch 1 when it fell asleep"},
	} {
		t.Run(c.bug.String(), func(t *testing.T) {
			for _, s := range Starts() {
				if !strings.HasPrefix(s.Name, c.start) {
					continue
				}
				o := Options{Depth: 10, EndOf: 3}
				restore := bugs.Set(c.bug)
				r := Explore(t, s, o)
				restore()
				if r.Failure == nil {
					t.Fatalf("%q: nothing was found in %d states", s.Name, r.States)
				}
				t.Logf("%q, after %d states: %v", s.Name, r.States, r.Failure)
				o.States = 2 * r.States
				if r := Explore(t, s, o); r.Failure != nil {
					t.Errorf("%q, without the bug: %v", s.Name, r.Failure)
				}
			}
		})
	}
}
