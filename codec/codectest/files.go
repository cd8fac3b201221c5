package codectest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"microbatch/codec"
)

// FilesCase is a format of files, and files of it.
type FilesCase struct {
	Format codec.Files
	Schema *arrow.Schema // declared
	// Good is a file, larger than a few units, without an error; of Rows rows, of which Rejected are rejected.
	Good           []byte
	Rows, Rejected int
	// Targets are sizes of units to try; the suite adds all of the file.
	Targets []int64
	// Streams says that the format can read a compressed file's stream.
	Streams bool
	// Hostile are files that must give an error or rejected rows, and nothing worse.
	Hostile [][]byte
}

// Files runs the suite for a format of files.
func Files(t *testing.T, c FilesCase) {
	whole := decodeUnits(t, c.Format, fileOf(c.Good), unitsOf(t, c.Format, c.Good, 1<<40), c.Schema, 0)
	if whole.Err != "" || len(whole.Rows) != c.Rows-c.Rejected || len(whole.Rejected) != c.Rejected {
		t.Fatalf("the good file gives %d rows, %d rejected, error %q", len(whole.Rows), len(whole.Rejected), whole.Err)
	}
	t.Run("any cut into units gives the same rows", func(t *testing.T) {
		for _, target := range c.Targets {
			units := unitsOf(t, c.Format, c.Good, target)
			if target*4 < int64(len(c.Good)) && len(units) < 2 {
				t.Errorf("a target of %d bytes gives %d units", target, len(units))
			}
			if diff := cmp.Diff(whole, decodeUnits(t, c.Format, fileOf(c.Good), units, c.Schema, 0)); diff != "" {
				t.Fatalf("units of %d bytes (-whole +units):\n%s", target, diff)
			}
		}
	})
	if c.Streams {
		t.Run("a stream gives the same rows", func(t *testing.T) {
			stream := func() codec.File { return codec.File{Name: "f", Size: 10, Stream: iotestReader(c.Good)} }
			if diff := cmp.Diff(whole, decodeUnits(t, c.Format, stream, []codec.Unit{{To: 10}}, c.Schema, 0)); diff != "" {
				t.Fatalf("(-file +stream):\n%s", diff)
			}
		})
	}
	t.Run("leaving early frees all memory", func(t *testing.T) {
		decodeUnits(t, c.Format, fileOf(c.Good), unitsOf(t, c.Format, c.Good, 1<<40), c.Schema, 1)
	})
	t.Run("a cancelled context ends the stream with its error", func(t *testing.T) { cancelled(t, c) })
	t.Run("an error of reading ends the stream with it", func(t *testing.T) { readError(t, c) })
	t.Run("spoiled files do no harm", func(t *testing.T) { spoiled(t, c) })
	t.Run("one format serves many goroutines", func(t *testing.T) {
		done := make(chan outcome)
		for range 4 {
			go func() {
				done <- decodeUnits(t, c.Format, fileOf(c.Good), unitsOf(t, c.Format, c.Good, c.Targets[0]), c.Schema, 0)
			}()
		}
		for range 4 {
			if diff := cmp.Diff(whole, <-done); diff != "" {
				t.Errorf("(-alone +beside others):\n%s", diff)
			}
		}
	})
}

// fileOf is a file of bytes.
func fileOf(content []byte) func() codec.File {
	return func() codec.File {
		return codec.File{Name: "f", At: bytes.NewReader(content), Size: int64(len(content))}
	}
}

// unitsOf cuts a file, and checks that the units cover it.
func unitsOf(t testing.TB, format codec.Files, content []byte, target int64) []codec.Unit {
	t.Helper()
	units, err := format.Units(context.Background(), fileOf(content)(), target)
	if err != nil {
		t.Fatal(err)
	}
	at := int64(0)
	for _, u := range units {
		if u.From != at || u.To < u.From {
			t.Errorf("a unit of %d to %d behind %d", u.From, u.To, at)
		}
		at = u.To
	}
	if at != int64(len(content)) {
		t.Errorf("the units end at %d of %d bytes", at, len(content))
	}
	return units
}

// iotestReader gives a few bytes at a time.
func iotestReader(content []byte) io.Reader {
	var readers []io.Reader
	for len(content) > 0 {
		n := min(len(content), 1000)
		readers = append(readers, bytes.NewReader(content[:n]))
		content = content[n:]
	}
	return io.MultiReader(readers...)
}

// cancelled decodes under a context that has ended.
func cancelled(t *testing.T, c FilesCase) {
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer alloc.AssertSize(t, 0)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var seen int64
	var last error
	for chunk, err := range c.Format.Decode(ctx, fileOf(c.Good)(), codec.Unit{To: int64(len(c.Good))}, c.Schema, alloc, &seen) {
		chunk.Release()
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("the stream ended with %v", last)
	}
}

// errBroken is what a brokenReader gives.
var errBroken = errors.New("the disk is broken")

// brokenReader fails when it reads at or behind an offset.
type brokenReader struct {
	io.ReaderAt
	from int64
}

func (r brokenReader) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > r.from {
		return 0, errBroken
	}
	return r.ReaderAt.ReadAt(p, at)
}

// readError decodes a file that cannot be read to its end.
func readError(t *testing.T, c FilesCase) {
	for _, from := range []int64{0, int64(len(c.Good) / 2), int64(len(c.Good) - 1)} {
		alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
		file := fileOf(c.Good)()
		file.At = brokenReader{file.At, from}
		var seen int64
		var last error
		for chunk, err := range c.Format.Decode(context.Background(), file, codec.Unit{To: file.Size}, c.Schema, alloc, &seen) {
			chunk.Release()
			last = err
		}
		if !errors.Is(last, errBroken) {
			t.Errorf("broken from %d: the stream ended with %v", from, last)
		}
		alloc.AssertSize(t, 0)
	}
}

// spoiled decodes hostile files, and the good one cut and with bytes changed.
func spoiled(t *testing.T, c FilesCase) {
	files := append([][]byte{}, c.Hostile...)
	rng := rand.New(rand.NewSource(1))
	small := c.Good
	for range 40 {
		cut := small[:rng.Intn(len(small))]
		changed := bytes.Clone(small)
		for range 1 + rng.Intn(20) {
			changed[rng.Intn(len(changed))] = byte(rng.Intn(256))
		}
		files = append(files, cut, changed)
	}
	for _, content := range files {
		units, err := c.Format.Units(context.Background(), fileOf(content)(), c.Targets[0])
		if err != nil {
			continue
		}
		out := decodeUnits(t, c.Format, fileOf(content), units, c.Schema, 0)
		again := decodeUnits(t, c.Format, fileOf(content), units, c.Schema, 0)
		if out.Err != "" && again.Err != "" {
			again.Err = out.Err // which of several errors is told may differ
		}
		if !cmp.Equal(out, again) {
			t.Errorf("(D1) decoding twice gives different rows:\n%s", cmp.Diff(out, again))
		}
	}
}
