package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"microbatch/objstore"
)

func putOnce(t *testing.T, s objstore.Store) {
	mustPut(t, s, "log/0", "first")
	wantContent(t, s, "log/0", []byte("first"))
	for _, data := range []string{"second", "first", ""} { // equal bytes prove nothing
		if err := s.PutIfAbsent(t.Context(), "log/0", []byte(data)); !errors.Is(err, fs.ErrExist) {
			t.Errorf("PutIfAbsent(%q) on a taken key: %v, want fs.ErrExist", data, err)
		}
	}
	wantContent(t, s, "log/0", []byte("first"))
	mustPut(t, s, "log/1", "")
	wantContent(t, s, "log/1", nil)
}

// pieces is content that is read from memory, and may fail on the way.
type pieces struct {
	data []byte
	err  error
}

func (p pieces) Size() int64 { return int64(len(p.data)) }

func (p pieces) Reader() io.ReadSeeker { return &failing{bytes.NewReader(p.data), p.err} }

type failing struct {
	*bytes.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	if f.err != nil && f.Len() < int(f.Size())/2 {
		return 0, f.err
	}
	return f.Reader.Read(p[:min(len(p), 10_007)])
}

// putContent is putOnce for content that is read piece by piece.
func putContent(t *testing.T, s objstore.Store) {
	for i, size := range []int{0, 10, 100_000, 12 << 20} {
		key, data := fmt.Sprintf("log/%d", i), pattern(size, uint64(i))
		broken := errors.New("broken")
		if err := objstore.PutContentIfAbsent(t.Context(), s, key, pieces{data, broken}); size > 0 && !errors.Is(err, broken) {
			t.Errorf("%d bytes that cannot be read: %v", size, err)
		}
		if size > 0 {
			wantMissing(t, s, key)
			if err := objstore.PutContentIfAbsent(t.Context(), s, key, pieces{data, nil}); err != nil {
				t.Fatal(err)
			}
		}
		wantContent(t, s, key, data)
		if err := objstore.PutContentIfAbsent(t.Context(), s, key, pieces{pattern(size, 9), nil}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("PutContentIfAbsent on a taken key: %v, want fs.ErrExist", err)
		}
		wantContent(t, s, key, data)
		if err := objstore.PutContent(t.Context(), s, key, pieces{pattern(size, 9), broken}); size > 0 && !errors.Is(err, broken) {
			t.Errorf("%d bytes that cannot be read: %v", size, err)
		}
		if size > 0 {
			wantContent(t, s, key, data)
		}
		if err := objstore.PutContent(t.Context(), s, key, pieces{pattern(size+1, 9), nil}); err != nil {
			t.Fatal(err)
		}
		wantContent(t, s, key, pattern(size+1, 9))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := objstore.PutContentIfAbsent(ctx, s, "new", pieces{pattern(10, 1), nil}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	if keys := list(t, s, "", ""); len(keys) != 4 {
		t.Errorf("List = %q, want the four objects", keys)
	}
}

// oneWinner is (S1): also in a folder that does not exist yet.
func oneWinner(t *testing.T, s objstore.Store) {
	const rounds, callers = 8, 16
	for round := range rounds {
		key := fmt.Sprintf("race/%d/key", round)
		errs := make([]error, callers)
		var group sync.WaitGroup
		for i := range callers {
			group.Go(func() { errs[i] = s.PutIfAbsent(t.Context(), key, raceContent(i)) })
		}
		group.Wait()
		winner := -1
		for i, err := range errs {
			switch {
			case err == nil && winner >= 0:
				t.Errorf("%s: both %d and %d won", key, winner, i)
			case err == nil:
				winner = i
			case !errors.Is(err, fs.ErrExist):
				t.Errorf("%s: loser's error %v, want fs.ErrExist", key, err)
			}
		}
		if winner < 0 {
			t.Fatalf("%s: nobody won", key)
		}
		wantContent(t, s, key, raceContent(winner))
	}
}

func raceContent(i int) []byte { return []byte(strings.Repeat(fmt.Sprintf("caller %d\n", i), 300)) }

func put(t *testing.T, s objstore.Store) {
	for _, data := range []string{"one", "a longer one", ""} {
		if err := s.Put(t.Context(), "dir/hint", []byte(data)); err != nil {
			t.Fatal(err)
		}
		wantContent(t, s, "dir/hint", []byte(data))
	}
	if err := s.PutIfAbsent(t.Context(), "dir/hint", nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("PutIfAbsent after Put: %v, want fs.ErrExist", err)
	}
}

func deleteReopens(t *testing.T, s objstore.Store) {
	for _, data := range []string{"one", "two"} {
		mustPut(t, s, "dir/key", data)
		wantContent(t, s, "dir/key", []byte(data))
		if err := s.Delete(t.Context(), "dir/key"); err != nil {
			t.Fatal(err)
		}
		wantMissing(t, s, "dir/key")
	}
}

func anyKey(t *testing.T, s objstore.Store) {
	keys := []string{
		"day=2024-01-31/part 1.parquet", "a%20b/c%2Fd", "a+b=c&d", "x#y?z", "q'\"`", "semi;colon,comma", "<angle>", "back\\slash", "tilde~!@$^*()[]{}|",
		"ü/ö/ä", "日本語/ファイル", "emoji-😀", "combining-e\u0301", "new\nline", "tab\tkey", "a...b", "_delta_log/00000000000000000000.json",
		"name=José%3A%20x/y", strings.Repeat("long", 50),
	}
	for i, key := range keys {
		mustPut(t, s, "any/"+key, fmt.Sprint(i))
	}
	for i, key := range keys {
		wantContent(t, s, "any/"+key, []byte(fmt.Sprint(i)))
		if got := list(t, s, "any/"+key, ""); !slices.Contains(got, "any/"+key) {
			t.Errorf("List does not show %q but %q", key, got)
		}
	}
	if got := list(t, s, "any/", ""); len(got) != len(keys) {
		t.Errorf("List has %d keys, want %d: %q", len(got), len(keys), got)
	}
	for _, key := range keys {
		if err := s.Delete(t.Context(), "any/"+key); err != nil {
			t.Errorf("Delete(%q): %v", key, err)
		}
	}
	if got := list(t, s, "", ""); len(got) > 0 {
		t.Errorf("left after Delete: %q", got)
	}
}

func ranges(t *testing.T, s objstore.Store) {
	data := pattern(100_000, 1)
	mustPut(t, s, "object", string(data))
	o, err := s.Open(t.Context(), "object")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if o.Size() != int64(len(data)) {
		t.Fatalf("Size = %d, want %d", o.Size(), len(data))
	}
	var group sync.WaitGroup
	for _, r := range []struct{ off, length, want int }{
		{0, 10, 10}, {99_990, 10, 10}, {50_000, 20_000, 20_000}, {0, 100_000, 100_000}, {99_990, 20, 10}, {100_000, 5, 0}, {200_000, 5, 0}, {7, 0, 0},
	} {
		group.Go(func() {
			buf := make([]byte, r.length)
			n, err := o.ReadAt(buf, int64(r.off))
			if n != r.want || (n < r.length && !errors.Is(err, io.EOF)) || (n == r.length && err != nil && !errors.Is(err, io.EOF)) {
				t.Errorf("ReadAt(%d bytes, %d) = %d, %v; want %d", r.length, r.off, n, err, r.want)
				return
			}
			if n > 0 && string(buf[:n]) != string(data[r.off:r.off+n]) {
				t.Errorf("ReadAt(%d bytes, %d): wrong bytes", r.length, r.off)
			}
		})
	}
	group.Wait()
	read, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
	if err != nil || string(read) != string(data) {
		t.Errorf("read through: %d bytes, %v", len(read), err)
	}
}
