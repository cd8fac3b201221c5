package kafka

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// scratchBytes is the most that waits to be used again: a slab of each reader, and some more.
const scratchBytes = 16 << 20

// scratch is the memory that batches are decompressed into, in turns: 400 MB for two million rows of 200 bytes otherwise, to be cleared and collected. It is a pool of
// the library's decompressor, which only takes from it; readers give back what they have decoded (arena).
type scratch struct {
	mu    sync.Mutex
	free  [][]byte
	bytes int
}

// GetDecompressBytes implements kgo.PoolDecompressBytes. Where the piece is too small, the library takes a new one, which comes back in its place.
func (s *scratch) GetDecompressBytes([]byte, kgo.CompressionCodecType) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) == 0 {
		return nil
	}
	b := s.free[len(s.free)-1]
	s.free[len(s.free)-1] = nil
	s.free = s.free[:len(s.free)-1]
	s.bytes -= cap(b)
	return b
}

// PutDecompressBytes implements kgo.PoolDecompressBytes.
func (s *scratch) PutDecompressBytes(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes+cap(b) > scratchBytes {
		return
	}
	s.bytes += cap(b)
	s.free = append(s.free, b)
}
