package filestage

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/sinks/sinktest"
)

// holding is a format whose files hold Arrow memory and a goroutine until they are closed, as a compressor's may. It fails where it is told to.
type holding struct {
	alloc  memory.Allocator
	opened atomic.Int64
	fail   string // "write", "close"
}

type heldFile struct {
	of     *holding
	w      io.Writer
	memory []byte
	end    chan struct{}
}

func (h *holding) open(w io.Writer, _ *arrow.Schema) (File, error) {
	h.opened.Add(1)
	f := &heldFile{h, w, h.alloc.Allocate(1 << 10), make(chan struct{})}
	go func() { <-f.end }()
	return f, nil
}

var errHolding = errors.New("no more")

func (f *heldFile) Write(arrow.RecordBatch) error {
	if f.of.fail == "write" {
		return errHolding
	}
	_, err := io.WriteString(f.w, strings.Repeat("x", 2*bufferBytes))
	return err
}

func (f *heldFile) Close() error {
	close(f.end) // a second Close panics
	f.of.alloc.Free(f.memory)
	_, err := io.WriteString(f.w, strings.Repeat("footer", bufferBytes))
	if f.of.fail == "close" {
		return errHolding
	}
	return err
}

// TestAFileThatIsGivenUpHoldsNothing: whatever ends a batch, each file that was begun is closed, once, with the memory and the goroutine that it holds.
func TestAFileThatIsGivenUpHoldsNothing(t *testing.T) {
	for name, end := range map[string]struct {
		fail string
		part error
	}{
		"a part fails": {part: errors.New("the source is gone")}, "a write fails": {fail: "write"}, "the end fails": {fail: "close"}, "nothing fails": {},
	} {
		t.Run(name, func(t *testing.T) {
			alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
			defer alloc.AssertSize(t, 0)
			before := runtime.NumGoroutine()
			format := &holding{alloc: alloc, fail: end.fail}
			c := config(t.TempDir())
			c.NewFile = format.open
			s, err := New(c)
			must(t, err)
			if err := s.Check(t.Context(), sinktest.Schema()); (err != nil) != (end.fail == "close") {
				t.Fatal(err)
			}
			must(t, s.Recover(t.Context(), sinktest.Query("q", 1), nil))
			b := sinktest.Batch(0, "a", alloc, []int64{1, 2}, []int64{3})
			b.Parts = append(b.Parts, failing(sinktest.Rows(alloc, 4, 5), end.part))
			p, err := s.Prepare(t.Context(), b)
			if wrong := end.fail != "" || end.part != nil; (err != nil) != wrong {
				t.Fatal(err)
			}
			if err == nil {
				must(t, s.Abort(t.Context(), p))
			}
			if format.opened.Load() == 0 {
				t.Error("no file was begun")
			}
			for range 1000 {
				if runtime.NumGoroutine() <= before {
					return
				}
				time.Sleep(time.Millisecond)
			}
			t.Errorf("%d goroutines, there were %d", runtime.NumGoroutine(), before)
		})
	}
}

// failing is a part that yields all of another, and then an error, if there is one.
func failing(p batch.Part, err error) batch.Part {
	return batch.PartFunc(func(ctx context.Context) batch.Stream {
		return func(yield func(batch.Chunk, error) bool) {
			for chunk, failed := range p.Chunks(ctx) {
				if !yield(chunk, failed) {
					return
				}
			}
			if err != nil {
				yield(batch.Chunk{}, err)
			}
		}
	})
}
