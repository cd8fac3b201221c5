package rate

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/sources"
	"microbatch/sources/sourcetest"
)

func TestRateConforms(t *testing.T) {
	var fed atomic.Int64
	sourcetest.Run(t, sourcetest.Subject{
		Reset: func(*testing.T) { fed.Store(0) },
		New: func(t *testing.T, alloc memory.Allocator) sources.Source {
			s, err := New(Config{RowsPerSecond: 20, Start: start, Alloc: alloc, Now: func() time.Time { return start.Add(time.Duration(fed.Load()) * time.Second) }})
			must(t, err)
			return s
		},
		Feed: func(_ *testing.T, n int) { fed.Add(int64(n / 20)) },
	})
}
