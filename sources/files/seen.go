package files

import (
	"hash/maphash"
	"strconv"
)

// seenSet is the files that entries of the seen-log name. Keys are hashed twice with secret seeds to 128 bits, so two names do not meet, not even on purpose.
type seenSet struct {
	first, second maphash.Seed
	content       map[[2]uint64]uint32 // by key: a mark of size and etag, 0 if not known
}

func newSeenSet() *seenSet {
	return &seenSet{first: maphash.MakeSeed(), second: maphash.MakeSeed(), content: map[[2]uint64]uint32{}}
}

func (s *seenSet) id(key string) [2]uint64 {
	return [2]uint64{maphash.String(s.first, key), maphash.String(s.second, key)}
}

func (s *seenSet) add(f file) { s.content[s.id(f.key)] = s.mark(f) }

// check reports whether the file was seen, and whether its content is another one since; that it says once.
func (s *seenSet) check(f file) (seen, changed bool) {
	id := s.id(f.key)
	before, seen := s.content[id]
	now := s.mark(f)
	if !seen || before == 0 || before == now {
		return seen, false
	}
	s.content[id] = now
	return true, true
}

func (s *seenSet) mark(f file) uint32 {
	if f.size < 0 {
		return 0
	}
	return uint32(maphash.String(s.first, strconv.FormatInt(f.size, 10)+f.etag)) | 1
}
