package translog

import (
	"bytes"
	"hash/crc32"
	"io"
	"testing"
	"testing/iotest"
)

// TestARopeReadsLikeItsBytes holds a rope of ranges against the same bytes in one piece.
func TestARopeReadsLikeItsBytes(t *testing.T) {
	source := []byte("0123456789abcdefghijklmnopqrstuvwxyz")
	r := &rope{}
	r.write([]byte("head "))
	r.add(bytes.NewReader(source), 10, 6)
	r.add(bytes.NewReader(source), 3, 0) // nothing
	r.add(bytes.NewReader(source), 0, 10)
	other := &rope{}
	other.write([]byte(" tail"))
	r.join(other)
	want := []byte("head abcdef0123456789 tail")
	if err := iotest.TestReader(r.Reader(), want); err != nil {
		t.Error(err)
	}
	for off := range len(want) + 2 {
		for n := range len(want) + 2 {
			p, q := make([]byte, n), make([]byte, n)
			got, err := r.ReadAt(p, int64(off))
			expected, wantErr := bytes.NewReader(want).ReadAt(q, int64(off))
			if got != expected || !bytes.Equal(p, q) || n > 0 && err != wantErr {
				t.Fatalf("%d bytes at %d: %q, %v; want %q, %v", n, off, p[:got], err, q[:expected], wantErr)
			}
		}
	}
}

// TestWhatHasChangedIsNotPutToItsEnd: an object that a rope is made of has rotted since its checksum was taken.
func TestWhatHasChangedIsNotPutToItsEnd(t *testing.T) {
	source := bytes.Repeat([]byte("a line of the checkpoint\n"), 100_000)
	r := &rope{}
	r.write([]byte("head\n"))
	r.add(bytes.NewReader(source), 0, int64(len(source)))
	content := summed{r, 5, crc32.Checksum(source, castagnoli)}
	in := content.Reader()
	for range 2 { // a request that is repeated begins anew
		if n, err := io.Copy(io.Discard, in); err != nil || n != r.size {
			t.Errorf("%d bytes, %v", n, err)
		}
		for _, s := range []struct{ offset, whence, want int64 }{{0, io.SeekEnd, r.size}, {0, io.SeekStart, 0}} {
			if at, err := in.Seek(s.offset, int(s.whence)); err != nil || at != s.want {
				t.Errorf("seek: %d, %v", at, err)
			}
		}
	}
	source[70_000] ^= 1
	in = content.Reader()
	for range 2 { // the error stays
		if n, err := io.Copy(io.Discard, in); err == nil || n >= r.size {
			t.Errorf("%d bytes of %d, %v", n, r.size, err)
		}
	}
}
