package s3

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
)

const (
	firstWindow = 128 << 10 // fetched for a small read at a new place
	lastWindow  = 4 << 20   // fetched for a reader that goes on and on
	maxWindows  = 4         // kept per object: as many readers go on at once without disturbing each other
)

// object reads ranges through a few windows. A read that goes on at the end of a window is given one twice as long, so a scan soon costs one request
// for 4 MiB, and a look at a footer costs one for 128 KiB.
type object struct {
	size   int64
	fetch  func(off, length int64) ([]byte, error) // all of it, or an error
	end    context.CancelFunc
	closed atomic.Bool

	mu      sync.Mutex
	windows []*window // the most recently used first
}

// window is a part of the object that is there or being fetched.
type window struct {
	off, length int64
	ready       chan struct{} // closed when data or err is set
	data        []byte
	err         error
}

func (w *window) end() int64 { return w.off + w.length }

func (o *object) Size() int64 { return o.size }

// ReadAt reads like io.ReaderAt. Concurrent calls run at once.
func (o *object) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, errors.New("s3: read at a negative offset")
	}
	if o.closed.Load() {
		return 0, fs.ErrClosed
	}
	for n < len(p) {
		if off >= o.size {
			return n, io.EOF
		}
		m, err := o.read(p[n:], off)
		n, off = n+m, off+int64(m)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// read gives at least one byte from off on, which is within the object.
func (o *object) read(p []byte, off int64) (int, error) {
	want := min(int64(len(p)), o.size-off)
	w, mine := o.window(off, want)
	if w == nil { // a large read goes straight through
		data, err := o.fetch(off, want)
		return copy(p, data), err
	}
	if mine {
		w.data, w.err = o.fetch(w.off, w.length)
		close(w.ready)
		if w.err != nil {
			o.drop(w)
		}
	}
	<-w.ready
	if w.err != nil {
		return 0, w.err
	}
	return copy(p, w.data[off-w.off:]), nil
}

// window is the one that holds off, or a new one that the caller has to fetch; nil for a read that is as large as a window itself.
func (o *object) window(off, want int64) (w *window, mine bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	length := int64(firstWindow)
	at := len(o.windows)
	for i, w := range o.windows {
		if w.off <= off && off < w.end() {
			o.toFront(i, w)
			return w, false
		}
		if off == w.end() && i < at {
			length, at = min(2*w.length, lastWindow), i // this reader goes on: the new window takes the place of the old one
		}
	}
	if want >= length && want >= lastWindow/2 {
		return nil, false
	}
	w = &window{off: off, length: max(length, want), ready: make(chan struct{})}
	if tail := o.size - length; at == len(o.windows) && off > tail {
		w.off = max(0, tail) // a look at the end of a file is followed by others before it
		w.length = o.size - w.off
	}
	w.length = min(w.length, o.size-w.off)
	switch {
	case at < len(o.windows):
	case len(o.windows) < maxWindows:
		o.windows = append(o.windows, w)
		at = len(o.windows) - 1
	default:
		at = len(o.windows) - 1
	}
	o.toFront(at, w)
	return w, true
}

// toFront puts w first in place of the i-th.
func (o *object) toFront(i int, w *window) {
	copy(o.windows[1:i+1], o.windows[:i])
	o.windows[0] = w
}

func (o *object) drop(w *window) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, have := range o.windows {
		if have == w {
			o.windows = append(o.windows[:i], o.windows[i+1:]...)
			return
		}
	}
}

// Close ends reads that are under way.
func (o *object) Close() error {
	o.closed.Store(true)
	o.end()
	return nil
}
