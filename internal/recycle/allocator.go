package recycle

import (
	"math/bits"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/internal/failpoint"
)

// Buffers of least up to most bytes are kept, in eight classes between a power of two and the next: at most an eighth of a buffer is not asked for.
const (
	least = 4 << 10
	most  = 16 << 20
	steps = 8
)

// Allocator is the package's allocator; all of its values share their memory. The zero value is ready, for many goroutines.
type Allocator struct{}

var (
	_ memory.Allocator = Allocator{}

	fresh memory.GoAllocator
	pools [steps * 64]sync.Pool // of *[]byte, by class
)

// Allocate is memory of any content.
func (Allocator) Allocate(size int) []byte {
	if size < least || size > most {
		return fresh.Allocate(size)
	}
	class, room := classOf(size)
	kept, _ := pools[class].Get().(*[]byte)
	if kept == nil {
		b := fresh.Allocate(room)
		soil(b)
		return b[:size]
	}
	return (*kept)[:size]
}

// Reallocate keeps the content as far as it is asked for.
func (a Allocator) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	grown := a.Allocate(size)
	copy(grown, b)
	a.Free(b)
	return grown
}

// Free takes memory back. What was not allocated here, or is too small or too large to keep, is left to the garbage collector.
func (Allocator) Free(b []byte) {
	if cap(b) < least || cap(b) > most {
		return
	}
	class, room := classOf(cap(b))
	if room != cap(b) {
		return
	}
	b = b[:room]
	soil(b)
	pools[class].Put(&b)
}

// classOf is the class of a size, and how large the buffers of the class are.
func classOf(size int) (class, room int) {
	shift := bits.Len(uint(size-1)) - 4 // of the class's step: the size is 8 to 16 of them
	n := (size + 1<<shift - 1) >> shift
	return steps*shift + n - steps, n << shift
}

// soil overwrites memory in tests (R2).
func soil(b []byte) {
	if failpoint.Enabled {
		for i := range b {
			b[i] = 0xdb
		}
	}
}
