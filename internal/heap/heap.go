package heap

import (
	"runtime/metrics"
	"testing"
)

// Allocated is how many bytes are allocated while f runs, freed or not, in the whole process: no less than f needs at its peak. Tests that measure do not run in parallel.
func Allocated(f func()) int64 {
	before := allocs()
	f()
	return int64(allocs() - before)
}

// AtMost fails the test if f allocates more than a number of bytes. what names the input.
func AtMost(t testing.TB, limit int64, what string, f func()) {
	t.Helper()
	if n := Allocated(f); n > limit {
		t.Errorf("%s: %d bytes were allocated, the limit is %d", what, n, limit)
	}
}

func allocs() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
