package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"microbatch/batch"
	"microbatch/codec"
)

const (
	// Slack is how many bytes of the buffer behind the text may be read; their content means nothing.
	Slack = 64
	// MaxLine is how long a line may be, in bytes.
	MaxLine = 64 << 20
	// reserve is what a buffer has behind the room for text: slack, and one line end (X2).
	reserve = Slack + 1
	// A unit is read at once, in blocks of at most maxBlock: where it lies remotely, each read is a request. A stream is read in blocks of block.
	// margin is how much is read behind the unit, for the end of its last line.
	block    = 1 << 20
	maxBlock = 8 << 20
	margin   = 16 << 10
)

// ErrLong says that a line is longer than MaxLine.
var ErrLong = errors.New("textfile: a line is too long")

// Reader reads one unit of a file. It is used by one goroutine.
type Reader struct {
	file   codec.File
	buf    []byte // buf[pos:end] is what was read and not taken yet
	pos    int
	end    int
	base   int64 // where buf[0] stands in the file
	to     int64 // lines that begin from here on are not ours
	begun  bool  // the first block was read
	eof    bool  // nothing is left to read
	last   bool  // the last line was taken
	block  int64 // how much to read at once
	more   int   // how many bytes the next lines must exceed
	rowEnd func() func([]byte) int
}

// NewReader prepares the reading of a unit. buf is memory to use, or nil; Buffer returns it, perhaps larger. Of a compressed file the only unit is
// all of its stream, and positions count decompressed bytes.
func NewReader(f codec.File, u codec.Unit, buf []byte) *Reader {
	r := &Reader{file: f, buf: buf[:cap(buf)], base: u.From, to: u.To, rowEnd: lineEnd, block: min(max(u.To-u.From, block), maxBlock)}
	if f.At == nil {
		r.base, r.to, r.block = 0, 1<<62, block
	}
	return r
}

// lineEnd is the row end of formats whose rows are single lines.
func lineEnd() func([]byte) int {
	return func(b []byte) int { return bytes.IndexByte(b, '\n') + 1 }
}

// RowEnd is for formats whose rows may be several lines. The function it is given makes a function that finds the end of one row: called with the
// row's text piece by piece, it returns the length of the piece up to the row's end, or 0 if the row goes on.
func (r *Reader) RowEnd(finder func() func(piece []byte) int) { r.rowEnd = finder }

// Buffer is the memory in use, to be handed to another reader when this one is done.
func (r *Reader) Buffer() []byte { return r.buf }

// Lines are whole lines in memory: Buf[From:To], each with its "\n". They are valid until the next call.
type Lines struct {
	Buf      []byte // followed by slack
	From, To int
	Base     int64 // where Buf[0] stands in the file
	Last     bool  // the unit has no lines behind these
}

// Unread gives back the lines from Buf[i] on, the beginning of a row of several lines: the next Lines begin with them and have more. Not to be
// called for the last lines.
func (r *Reader) Unread(i int) {
	r.more = r.pos - i
	r.pos = i
}

// Next takes the next lines of the unit; io.EOF behind the last. ErrLong comes with the beginning of a line that is too long, which counts as taken.
func (r *Reader) Next() (Lines, error) {
	if !r.begun {
		r.begun = true
		if err := r.begin(); err != nil {
			return Lines{}, err
		}
	}
	for !r.last {
		if n := r.wholeLines(); n > 0 {
			lines := Lines{Buf: r.buf, From: r.pos, To: r.pos + n, Base: r.base, Last: r.last}
			r.pos += n
			r.more = 0
			return lines, nil
		}
		if r.last {
			break
		}
		if r.end-r.pos > MaxLine {
			return r.passLong()
		}
		if err := r.fill(); err != nil {
			return Lines{}, err
		}
	}
	return Lines{}, io.EOF
}

// begin reads the first block and skips the line that the unit before owns. If no line begins in the unit, nothing is left to take.
func (r *Reader) begin() error {
	if r.base >= r.to {
		r.last = true
		return nil
	}
	inside := r.base > 0
	if inside {
		r.base-- // a line begins at From if a line end stands before it
	}
	if err := r.fill(); err != nil || !inside {
		return err
	}
	for {
		own := r.end
		if r.base+int64(own) > r.to {
			own = int(r.to - r.base)
		}
		if i := bytes.IndexByte(r.buf[r.pos:own], '\n'); i >= 0 {
			r.pos += i + 1
			return nil
		}
		if r.base+int64(r.end) >= r.to || r.eof {
			r.last = true
			return nil
		}
		r.pos = r.end
		if err := r.fill(); err != nil {
			return err
		}
	}
}

// wholeLines is the length of the whole lines of the unit that stand in the buffer unread; it sets last with the last of them.
func (r *Reader) wholeLines() int {
	unread := r.buf[r.pos:r.end]
	if r.base+int64(r.pos) >= r.to || r.eof && len(unread) == 0 {
		r.last = true
		return 0
	}
	if rest := r.to - r.base - int64(r.pos); rest <= int64(len(unread)) { // the line of the unit's last byte is the last
		if i := bytes.IndexByte(unread[rest-1:], '\n'); i >= 0 {
			r.last = true
			return int(rest) + i
		}
	}
	if i := bytes.LastIndexByte(unread[r.more:], '\n'); i >= 0 {
		return r.more + i + 1
	}
	if !r.eof {
		return 0
	}
	r.buf[r.end] = '\n' // (X2)
	r.end++
	r.last = true
	return len(unread) + 1
}

// fill moves what is unread to the front of the buffer and reads more behind it, at least one byte but at the end of the file.
func (r *Reader) fill() error {
	if r.pos > 0 {
		copy(r.buf, r.buf[r.pos:r.end])
		r.base += int64(r.pos)
		r.end -= r.pos
		r.pos = 0
	}
	need, whole := int64(block/2), r.block+margin
	if r.file.At != nil { // a small file needs no large buffer
		left := max(0, r.file.Size-r.base-int64(r.end))
		need, whole = min(need, left), min(whole, int64(r.end)+left)
	}
	if int64(len(r.buf)-reserve-r.end) < need {
		grown := make([]byte, max(int64(2*r.end), whole)+reserve)
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
	n, err := r.read(r.buf[r.end : len(r.buf)-reserve])
	r.end += n
	if errors.Is(err, io.EOF) {
		r.eof = true
		err = nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", r.file.Name, err)
	}
	return nil
}

// read reads one block of the stream, or of the file as far as the unit needs it. io.EOF may come with bytes.
func (r *Reader) read(p []byte) (int, error) {
	if r.file.At == nil {
		return readFull(r.file.Stream, p)
	}
	from := r.base + int64(r.end)
	want := r.to + margin - from // ours, and probably the end of the last line
	if want < margin {
		want = block // the last line is a long one
	}
	want = min(want, int64(len(p)), r.file.Size-from)
	if want <= 0 {
		return 0, io.EOF
	}
	n, err := r.file.At.ReadAt(p[:want], from)
	if int64(n) == want {
		if from+want == r.file.Size {
			return n, io.EOF
		}
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("the file became shorter than %d bytes: %w", r.file.Size, io.ErrUnexpectedEOF)
	}
	return n, err
}

// readFull reads until p is full or the stream ends, with io.EOF. It is not io.ReadFull, which says io.ErrUnexpectedEOF for a short end: that is what a
// decompressor says of a file that was cut off.
func readFull(stream io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var k int
		k, err = stream.Read(p[n:])
		n += k
	}
	return n, err
}

// passLong takes a row that is too long: its beginning is returned, the rest is read past.
func (r *Reader) passLong() (Lines, error) {
	start, end := r.base+int64(r.pos), r.rowEnd()
	head := append([]byte(nil), r.buf[r.pos:r.pos+batch.MaxRaw]...)
	r.more = 0
	for {
		if n := end(r.buf[r.pos:r.end]); n > 0 {
			r.pos += n
			break
		}
		r.pos = r.end
		if r.eof {
			r.last = true
			break
		}
		if err := r.fill(); err != nil {
			return Lines{}, err
		}
	}
	return Lines{Buf: head, To: len(head), Base: start}, ErrLong
}
