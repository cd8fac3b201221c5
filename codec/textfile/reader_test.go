package textfile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"microbatch/batch"
	"microbatch/codec"
)

// line is a line as a reader gave it.
type line struct {
	At   int64
	Text string
}

// readAll is all lines of a unit.
func readAll(t *testing.T, f codec.File, u codec.Unit) (all []line) {
	t.Helper()
	r := NewReader(f, u, nil)
	for {
		lines, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if errors.Is(err, ErrLong) {
			all = append(all, line{lines.Base, "too long: " + string(lines.Buf[:10])})
			if len(lines.Buf) != batch.MaxRaw {
				t.Errorf("%d bytes of a long line", len(lines.Buf))
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(lines.Buf) < lines.To+Slack {
			t.Fatal("no slack behind the lines")
		}
		if lines.Buf[lines.To-1] != '\n' {
			t.Fatal("the last line has no end")
		}
		for i := lines.From; i < lines.To; {
			n := bytes.IndexByte(lines.Buf[i:], '\n')
			all = append(all, line{lines.Base + int64(i), string(lines.Buf[i : i+n])})
			i += n + 1
		}
	}
}

// TestLinesBelongToTheUnitTheyBeginIn cuts files with lines of all lengths, also longer than a block, at every kind of place.
func TestLinesBelongToTheUnitTheyBeginIn(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for round, lengths := range [][]int{{0, 1, 2, 5}, {100, 200}, {block - 1, block, 3, 0, 2*block + 5}, {3 * block, 10}, {10000}} {
		var text bytes.Buffer
		var want []line
		for range 300 {
			if text.Len() > 6*block {
				break
			}
			l := line{int64(text.Len()), strings.Repeat("x", lengths[rng.Intn(len(lengths))])}
			want = append(want, l)
			text.WriteString(l.Text + "\n")
		}
		content := text.Bytes()
		if round%2 == 1 {
			content = content[:len(content)-1] // no end of the last line
		}
		file := codec.File{Name: "f", At: bytes.NewReader(content), Size: int64(len(content))}
		for _, target := range []int64{1, 3, 1000, 65536, block, block + 1, 2 * block, 1 << 40} {
			if int64(len(content))/target > 5000 {
				continue
			}
			var got []line
			for _, u := range Units(file, target) {
				got = append(got, readAll(t, file, u)...)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("round %d, units of %d bytes: %d lines, not %d", round, target, len(got), len(want))
			}
		}
		stream := codec.File{Name: "f", Size: 5, Stream: bytes.NewReader(content)}
		if got := readAll(t, stream, codec.Unit{To: 5}); !cmp.Equal(want, got) {
			t.Fatalf("round %d, a stream: %d lines, not %d", round, len(got), len(want))
		}
	}
}

// TestLineBeyondLimitIsCut: of such a line only the beginning is kept, and the lines around it are read.
func TestLineBeyondLimitIsCut(t *testing.T) {
	long := io.LimitReader(repeat('y'), MaxLine+5*block)
	stream := io.MultiReader(strings.NewReader("a\n"), long, strings.NewReader("\nb\n"))
	got := readAll(t, codec.File{Name: "f", Stream: stream}, codec.Unit{})
	want := []line{{0, "a"}, {2, "too long: yyyyyyyyyy"}, {MaxLine + 5*block + 3, "b"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// repeat is an endless stream of one byte.
type repeat byte

func (r repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

// TestFileThatBecomesShorter is an error, not a short read.
func TestFileThatBecomesShorter(t *testing.T) {
	file := codec.File{Name: "f", At: strings.NewReader("a\nb\n"), Size: 10}
	if _, err := NewReader(file, codec.Unit{To: 10}, nil).Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

// TestCompressedFileThatWasCutOff is an error, not an end.
func TestCompressedFileThatWasCutOff(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for i := range 100_000 {
		fmt.Fprintln(w, i)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{packed.Len() - 1, packed.Len() - 8, packed.Len() / 2} {
		unpacked, err := gzip.NewReader(bytes.NewReader(packed.Bytes()[:n]))
		if err != nil {
			t.Fatal(err)
		}
		r := NewReader(codec.File{Name: "f.gz", Stream: unpacked}, codec.Unit{}, nil)
		for err == nil {
			_, err = r.Next()
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes of %d: the stream ended with %v", n, packed.Len(), err)
		}
	}
}
