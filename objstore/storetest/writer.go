package storetest

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"microbatch/objstore"
)

// pattern is n bytes that no shift or swap of parts leaves the same.
func pattern(n int, seed uint64) []byte {
	out := make([]byte, n)
	x := seed*0x9E3779B97F4A7C15 + 1
	for i := range out {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		out[i] = byte(x)
	}
	return out
}

func create(t *testing.T, s objstore.Store, key string) objstore.Writer {
	t.Helper()
	w, err := s.Create(t.Context(), key)
	if err != nil {
		t.Fatalf("Create(%q): %v", key, err)
	}
	return w
}

// writeIn writes data in pieces of uneven size and reuses its buffer, as a real caller does.
func writeIn(w objstore.Writer, data []byte, piece int) error {
	buf := make([]byte, piece)
	for at := 0; at < len(data); {
		n := copy(buf, data[at:])
		if m, err := w.Write(buf[:n]); err != nil || m != n {
			return fmt.Errorf("Write of %d bytes = %d, %w", n, m, err)
		}
		clear(buf)
		at += n
	}
	return nil
}

func writerCommit(t *testing.T, s objstore.Store) {
	for name, data := range map[string][]byte{"empty": nil, "small": []byte("abc"), "medium": pattern(300_000, 2)} {
		key := "out/" + name
		w := create(t, s, key)
		if err := writeIn(w, data, 1_001); err != nil {
			t.Fatal(err)
		}
		wantMissing(t, s, key)
		if keys := list(t, s, key, ""); len(keys) > 0 {
			t.Errorf("an open writer shows in the list: %q", keys)
		}
		if err := w.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantContent(t, s, key, data)
		if err := w.Abort(t.Context()); err != nil {
			t.Errorf("Abort after Commit: %v", err)
		}
		wantContent(t, s, key, data)
	}
	if keys := list(t, s, "", ""); len(keys) != 3 {
		t.Errorf("List = %q, want the three objects", keys)
	}
}

func writerAbort(t *testing.T, s objstore.Store) {
	for name, size := range map[string]int{"empty": 0, "small": 10, "large": 20 << 20} {
		w := create(t, s, "out/"+name)
		if err := writeIn(w, pattern(size, 3), 1<<20); err != nil {
			t.Fatal(err)
		}
		if err := w.Abort(t.Context()); err != nil {
			t.Fatalf("Abort: %v", err)
		}
		wantMissing(t, s, "out/"+name)
		if err := w.Abort(t.Context()); err != nil {
			t.Errorf("second Abort: %v", err)
		}
	}
	if keys := list(t, s, "", ""); len(keys) > 0 {
		t.Errorf("left after Abort: %q", keys)
	}
}

func writerLarge(t *testing.T, s objstore.Store) {
	for _, size := range []int{8 << 20, 8<<20 + 1, 21<<20 + 12_345} { // at and around the size of a part
		key := fmt.Sprintf("big/%d", size)
		data := pattern(size, 4)
		w := create(t, s, key)
		if err := writeIn(w, data, 777_777); err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		o, err := s.Open(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, o.Size())
		if _, err := o.ReadAt(got, 0); err != nil && len(got) != size {
			t.Errorf("read %s: %v", key, err)
		}
		if !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes read differ from the %d written", key, len(got), size)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}
}

func writerMany(t *testing.T, s objstore.Store) {
	const writers = 12
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			key := fmt.Sprintf("out/day=%d/part-%d.parquet", i%3, i)
			w, err := s.Create(t.Context(), key)
			if err != nil {
				t.Error(err)
				return
			}
			if err := writeIn(w, pattern(50_000+i, uint64(i)), 4_096); err != nil {
				t.Error(err)
			}
			if err := w.Commit(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for i := range writers {
		wantContent(t, s, fmt.Sprintf("out/day=%d/part-%d.parquet", i%3, i), pattern(50_000+i, uint64(i)))
	}
}
