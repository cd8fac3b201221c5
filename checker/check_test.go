package checker

import (
	"testing"
)

func TestARealQueryBreaksNoRule(t *testing.T) {
	for _, format := range []Format{Parquet, Delta} {
		t.Run(string(format), func(t *testing.T) {
			w := newWorld(t, format)
			w.run(20, 7)
			w.sum()
			w.run(40, 9)
			w.optimize()
			w.sum()
			w.run(50, 5)
			r := w.check(w.input())
			if err := r.Err(); err != nil {
				t.Error(err)
			}
			for _, rule := range Rules() {
				if r.Counts[rule] == 0 && rule != Orphan {
					t.Errorf("rule %s compared nothing", rule)
				}
			}
			t.Logf("%+v", r)
		})
	}
}
