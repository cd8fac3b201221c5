package orders

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/sources"
	"microbatch/sources/sourcetest"
)

func TestOrdersConform(t *testing.T) {
	var fed atomic.Int64
	sourcetest.Run(t, sourcetest.Subject{
		New: func(_ *testing.T, alloc memory.Allocator) sources.Source {
			return must(New(Config{RowsPerSecond: 1000, Seed: 5, Alloc: alloc, Now: func() time.Time { return time.Unix(fed.Load(), 0) }}))
		},
		Feed: func(_ *testing.T, n int) { fed.Add(int64(n / 1000)) },
	})
}
