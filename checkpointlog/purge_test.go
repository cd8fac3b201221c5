package checkpointlog

import (
	"math/rand/v2"
	"testing"

	"microbatch/ident"
	"microbatch/objstore/localfs"
	"microbatch/objstore/localfs/crashfs"
)

// TestAPurgeRestsOnADurableLowWatermark: a process linked the low watermark and was killed before it had synced the folder; the next one found it and deleted the
// entries below; then power was lost. What is deleted may be half back: only the low watermark says that it does not count.
func TestAPurgeRestsOnADurableLowWatermark(t *testing.T) {
	const mark = 3
	disk := crashfs.New()
	first := NewCheckpoint(localfs.NewOn(disk, localfs.Options{}))
	for id := range ident.BatchID(6) {
		for _, log := range []Log{first.Offsets, first.Commits} {
			if err := log.Put(t.Context(), id, []byte("v1")); err != nil {
				t.Fatal(err)
			}
		}
	}
	killed := func(op, name string) error {
		if op == "syncdir" && name == "_engine/low-watermark" {
			return crashfs.ErrPowerLost
		}
		return nil
	}
	disk.Fault(killed)
	if err := first.RaiseLowWatermark(t.Context(), mark); err == nil {
		t.Fatal("it was not killed")
	}
	disk = disk.Kill()
	next := NewCheckpoint(localfs.NewOn(disk, localfs.Options{}))
	low, err := next.LowWatermark(t.Context())
	if err != nil || low != mark {
		t.Fatalf("the next process finds %d, %v", low, err)
	}
	if err := next.Purge(t.Context(), low, []ident.BatchID{0, 1, 2, 3}, []ident.BatchID{0, 1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	after := NewCheckpoint(localfs.NewOn(disk.Crash(rand.New(rand.NewPCG(7, 7)), 0), localfs.Options{}))
	if low, err := after.LowWatermark(t.Context()); err != nil || low != mark {
		t.Errorf("after a loss of power the low watermark is %d, %v", low, err)
	}
}
