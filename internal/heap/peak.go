package heap

import "github.com/apache/arrow-go/v18/arrow/memory"

// Peak is an Arrow allocator that remembers the most memory, in bytes, that was in use at once. It is used by one goroutine at a time.
type Peak struct {
	memory.Allocator
	Now, Most int
}

// Allocate is memory.Allocator.
func (p *Peak) Allocate(n int) []byte {
	p.note(n)
	return p.Allocator.Allocate(n)
}

// Reallocate is memory.Allocator.
func (p *Peak) Reallocate(n int, b []byte) []byte {
	p.note(n - len(b))
	return p.Allocator.Reallocate(n, b)
}

// Free is memory.Allocator.
func (p *Peak) Free(b []byte) {
	p.note(-len(b))
	p.Allocator.Free(b)
}

func (p *Peak) note(n int) {
	p.Now += n
	p.Most = max(p.Most, p.Now)
}
