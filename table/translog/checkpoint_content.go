package translog

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"sort"
)

// A rope is an object put together of ranges of others, which are read when it is: a checkpoint consists, but for little, of what the one before holds.
type rope struct {
	strands []strand
	size    int64
}

type strand struct {
	from           io.ReaderAt
	at, off, bytes int64 // of the rope; of from
}

// add appends a range of an object.
func (r *rope) add(from io.ReaderAt, off, bytes int64) {
	if bytes > 0 {
		r.strands = append(r.strands, strand{from, r.size, off, bytes})
		r.size += bytes
	}
}

// write appends bytes, which the rope keeps.
func (r *rope) write(b []byte) { r.add(bytes.NewReader(b), 0, int64(len(b))) }

// join appends another rope.
func (r *rope) join(other *rope) {
	for _, s := range other.strands {
		r.add(s.from, s.off, s.bytes)
	}
}

// Size is the length in bytes.
func (r *rope) Size() int64 { return r.size }

// Close does nothing: what the ranges are of is its opener's.
func (r *rope) Close() error { return nil }

// ReadAt reads like io.ReaderAt.
func (r *rope) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 || off >= r.size {
		return 0, io.EOF
	}
	i := sort.Search(len(r.strands), func(i int) bool { return r.strands[i].at > off }) - 1
	for ; n < len(p) && i < len(r.strands); i++ {
		s := &r.strands[i]
		within := off + int64(n) - s.at
		part := p[n:min(int64(len(p)), int64(n)+s.bytes-within)]
		m, err := s.from.ReadAt(part, s.off+within)
		n += m
		if m < len(part) {
			return n, fmt.Errorf("a range of a checkpoint ends early: %w", err)
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Reader reads the rope from its begin.
func (r *rope) Reader() io.ReadSeeker { return io.NewSectionReader(r, 0, r.size) }

// summed is a rope whose bytes have a checksum. Who reads it to its end is told if they have another.
type summed struct {
	*rope
	head int64 // bytes that the checksum leaves out
	sum  uint32
}

// Reader reads the rope from its begin.
func (s summed) Reader() io.ReadSeeker { return &sumReader{content: s, in: s.rope.Reader()} }

// sumReader withholds the last bytes if the checksum is another: nobody may take what was read before for the whole.
type sumReader struct {
	content summed
	in      io.ReadSeeker
	at      int64 // so much was read from the begin on; -1 after a seek to elsewhere
	sum     uint32
}

func (r *sumReader) Read(p []byte) (int, error) {
	if r.at < 0 {
		return 0, fmt.Errorf("a checkpoint is read from its begin only")
	}
	n, err := r.in.Read(p)
	r.sum = crc32.Update(r.sum, castagnoli, p[min(int64(n), max(0, r.content.head-r.at)):n])
	r.at += int64(n)
	if n > 0 && r.at == r.content.size && r.sum != r.content.sum {
		r.at = -1
		return 0, fmt.Errorf("the checkpoint that this one is made from has changed")
	}
	return n, err
}

func (r *sumReader) Seek(offset int64, whence int) (int64, error) {
	at, err := r.in.Seek(offset, whence)
	switch {
	case err != nil || at == r.at:
	case at == 0:
		r.at, r.sum = 0, 0
	default:
		r.at = -1
	}
	return at, err
}
