package files

import (
	"io"
	"runtime/debug"
	"sync"

	"microbatch/internal/errcode"
)

const (
	aheadBlock  = 256 << 10
	aheadBlocks = 8
)

// blocks is memory for what was read ahead, for one file after the other.
var blocks = sync.Pool{New: func() any { return new([aheadBlock]byte) }}

// block is a stretch of a stream, with the error that it ended with.
type block struct {
	data *[aheadBlock]byte
	n    int
	err  error
}

// ahead reads a stream in a goroutine of its own, some blocks further than its reader: so a compressed file, which is one unit, is decompressed on one processor
// and decoded on another.
type ahead struct {
	full    chan block
	stop    chan struct{}
	ended   sync.WaitGroup
	current block
	at      int // of the current block
}

func newAhead(r io.Reader) *ahead {
	a := &ahead{full: make(chan block, aheadBlocks), stop: make(chan struct{})}
	a.ended.Go(func() {
		for {
			b := block{data: blocks.Get().(*[aheadBlock]byte)}
			b.fill(r)
			select {
			case a.full <- b:
			case <-a.stop:
				blocks.Put(b.data)
				return
			}
			if b.err != nil {
				return
			}
		}
	})
	return a
}

// fill reads until the block is full or the stream has ended. A panic of the stream, a library that a hostile file has confused, is its error: in this goroutine nobody
// else would catch it.
func (b *block) fill(r io.Reader) {
	defer func() {
		if p := recover(); p != nil {
			b.err = errcode.PartPanicked.New("", "panic: %v\n%s", p, debug.Stack())
		}
	}()
	for b.n < aheadBlock && b.err == nil {
		var n int
		n, b.err = r.Read(b.data[b.n:])
		b.n += n
	}
}

// Read reads what was read ahead. The stream's error comes behind its last byte, and again from then on.
func (a *ahead) Read(p []byte) (int, error) {
	for a.current.data == nil || a.at == a.current.n {
		if a.current.err != nil {
			return 0, a.current.err
		}
		a.drop()
		a.current, a.at = <-a.full, 0
	}
	n := copy(p, a.current.data[a.at:a.current.n])
	a.at += n
	return n, nil
}

func (a *ahead) drop() {
	if a.current.data != nil {
		blocks.Put(a.current.data)
	}
	a.current = block{}
}

// close ends the reading ahead, and waits for the read that is under way.
func (a *ahead) close() {
	close(a.stop)
	a.ended.Wait()
	a.drop()
}
