package maintain

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/objstore/faultstore"
	"microbatch/table/translog"
)

// TestOptimizeWhoseAnswerIsLostLeavesTheTableWhole: its own entry, found in the slot that it has tried, is no conflict with another writer, after which the files
// that it has made would be of no use to anyone (T1, T2).
func TestOptimizeWhoseAnswerIsLostLeavesTheTableWhole(t *testing.T) {
	for name, c := range map[string]struct {
		rule    string
		settled bool
	}{
		"landed and unanswered":        {"putifabsent:_delta_log/#1 lose uncertain", true},
		"landed and answered as taken": {"putifabsent:_delta_log/#1 lose exist", true},
		"not landed and unanswered":    {"putifabsent:_delta_log/#1 fail uncertain", false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLake(t, translog.Delta)
			l.append(0)
			l.append(2, 4)
			l.append(6)
			store := faultstore.New(l.store)
			store.Inject(faultstore.MustParse(c.rule))
			result, err := Optimize(t.Context(), translog.New(store, translog.Delta, l.log.Now), OptimizeOptions{Alloc: l.alloc})
			if c.settled && (err != nil || result.Removed != 3) || !c.settled && !errcode.Has(err, errcode.TableUncertain) {
				t.Errorf("optimize: %+v, %v", result, err)
			}
			if n := store.Count("delete", ""); n > 0 {
				t.Errorf("%d files were deleted", n)
			}
			if diff := cmp.Diff([]int64{0, 2, 4, 6}, l.ids()); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if report, err := Check(t.Context(), l.log, CheckOptions{Values: true}); err != nil || len(report.Problems) > 0 {
				t.Errorf("check: %+v, %v", report, err)
			}
		})
	}
}

// TestOptimizeAfterAFailedFsyncDeletesNothing: the files that it could not make durable stay until vacuum.
func TestOptimizeAfterAFailedFsyncDeletesNothing(t *testing.T) {
	l := newLake(t, translog.Delta)
	l.append(0)
	l.append(2)
	store := faultstore.New(l.store)
	store.Inject(faultstore.MustParse("commit lose fsync"))
	_, err := Optimize(t.Context(), translog.New(store, translog.Delta, l.log.Now), OptimizeOptions{Alloc: l.alloc})
	if n := store.Count("delete", ""); !errors.Is(err, objstore.ErrFsync) || n > 0 {
		t.Errorf("optimize: %v, and %d files were deleted", err, n)
	}
}
