package recycle

import (
	"testing"
)

// TestClassesHoldWhatIsAskedFor: a buffer is as large as asked, at most an eighth larger, and every class has one size.
func TestClassesHoldWhatIsAskedFor(t *testing.T) {
	rooms := map[int]int{}
	for size := least; size <= most; size += 1 + size/1000 {
		class, room := classOf(size)
		if room < size || room > size+size/steps+1 {
			t.Fatalf("a buffer of %d bytes has room for %d", size, room)
		}
		if other, ok := rooms[class]; ok && other != room {
			t.Fatalf("class %d has buffers of %d and of %d bytes", class, other, room)
		}
		rooms[class] = room
		if again, same := classOf(room); again != class || same != room {
			t.Fatalf("a buffer of class %d (%d bytes) comes back to class %d (%d bytes)", class, room, again, same)
		}
	}
}

func TestMemoryIsGivenOutAgain(t *testing.T) {
	var a Allocator
	for range 100 { // a pool may forget at any time
		b := a.Allocate(100_000)
		b[0], b[99_999] = 1, 2
		a.Free(b)
		if c := a.Allocate(99_000); &c[0] == &b[0] {
			return
		}
	}
	t.Error("never")
}

func TestContentIsKeptWhenABufferGrows(t *testing.T) {
	var a Allocator
	b := a.Allocate(10)
	for i := range b {
		b[i] = byte(i)
	}
	for _, size := range []int{100, 5_000, 100_000, most, most + 1, 20} {
		if b = a.Reallocate(size, b); len(b) != size {
			t.Fatalf("%d bytes, want %d", len(b), size)
		}
		for i := range 10 {
			if b[i] != byte(i) {
				t.Fatalf("byte %d is %d in a buffer of %d", i, b[i], size)
			}
		}
	}
}

// TestForeignMemoryIsNotKept: a slice of another allocator may be part of something that lives on.
func TestForeignMemoryIsNotKept(t *testing.T) {
	var a Allocator
	for _, b := range [][]byte{nil, make([]byte, 10), make([]byte, least+1), make([]byte, 100_001), make([]byte, most+1)} {
		for i := range b {
			b[i] = 7
		}
		a.Free(b)
		for i := range b {
			if b[i] != 7 {
				t.Fatalf("a buffer of %d bytes was overwritten", len(b))
			}
		}
	}
}
