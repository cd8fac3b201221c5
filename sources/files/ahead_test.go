package files

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
)

// TestAStreamThatIsReadAheadIsTheSame for lengths around those of its blocks, read in pieces of any length, and with the stream's own error at its end.
func TestAStreamThatIsReadAheadIsTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	broken := errors.New("broken")
	for _, length := range []int{0, 1, aheadBlock - 1, aheadBlock, aheadBlock + 1, 3*aheadBlock + 7, (aheadBlocks + 3) * aheadBlock} {
		for _, end := range []error{io.EOF, broken} {
			data := make([]byte, length)
			for i := range data {
				data[i] = byte(rng.Uint32())
			}
			var in io.Reader = iotest.DataErrReader(bytes.NewReader(data))
			if end != io.EOF {
				in = io.MultiReader(bytes.NewReader(data), iotest.ErrReader(end))
			}
			a := newAhead(in)
			var got []byte
			var err error
			for err == nil {
				p := make([]byte, 1+rng.IntN(100_000))
				var n int
				n, err = a.Read(p)
				got = append(got, p[:n]...)
			}
			if _, again := a.Read(make([]byte, 1)); !bytes.Equal(got, data) || !errors.Is(err, end) || !errors.Is(again, end) {
				t.Errorf("%d bytes and %v came back as %d bytes, %v, and then %v", length, end, len(got), err, again)
			}
			a.close()
		}
	}
}

// endless is a stream that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestAStreamThatIsLeftEarlyLeavesNoGoroutine: the bubble ends only when all have.
func TestAStreamThatIsLeftEarlyLeavesNoGoroutine(t *testing.T) {
	for _, reads := range []int{0, 1, 100} {
		synctest.Test(t, func(t *testing.T) {
			a := newAhead(endless{})
			for range reads {
				if _, err := a.Read(make([]byte, 100_000)); err != nil {
					t.Fatal(err)
				}
			}
			a.close()
		})
	}
}

// confused is a stream whose second read panics.
type confused struct{ reads int }

func (c *confused) Read(p []byte) (int, error) {
	if c.reads++; c.reads > 1 {
		panic("index out of range")
	}
	return copy(p, "text"), nil
}

// TestAPanicOfAStreamIsItsError: it happens in a goroutine of which the query knows nothing, and would end the process.
func TestAPanicOfAStreamIsItsError(t *testing.T) {
	a := newAhead(&confused{})
	defer a.close()
	got, err := io.ReadAll(a)
	if string(got) != "text" || err == nil || !strings.Contains(err.Error(), "index out of range") {
		t.Errorf("%q, %v", got, err)
	}
}
