package translog

import (
	"bufio"
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"

	"microbatch/objstore"
	"microbatch/table/action"
)

// Tags of checkpointMetadata, the first line of a JSON checkpoint of ours.
const (
	linesTag = "microbatch.lines"  // how many lines it has, so that a shortened one is known
	sumTag   = "microbatch.crc32c" // CRC-32C of all that follows the first line, in hexadecimal, so that a damaged one is known; older ones have none
)

// castagnoli is the polynomial of that checksum.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A lineReader reads the lines of a JSON checkpoint and holds them against what the first one says.
type lineReader struct {
	in    *bufio.Reader
	long  []byte // a line that is longer than the buffer
	at    int64  // where the next line begins
	lines int
	sum   uint32 // of the lines behind the first

	wantLines int // -1: it is not told
	wantSum   uint32
	summed    bool // wantSum is told
}

func newLineReader(object objstore.Object) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(io.NewSectionReader(object, 0, object.Size()), 1<<18), wantLines: -1}
}

// next is the next line, which is there until another is read. io.EOF: there is none.
func (r *lineReader) next() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		r.long = r.long[:0]
		for err == bufio.ErrBufferFull {
			r.long = append(r.long, line...)
			line, err = r.in.ReadSlice('\n')
		}
		r.long = append(r.long, line...)
		line = r.long
	}
	if err == io.EOF && len(bytes.TrimSpace(line)) > 0 {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	r.at += int64(len(line))
	if r.lines++; r.lines > 1 {
		r.sum = crc32.Update(r.sum, castagnoli, line)
	}
	return line, nil
}

// heed notes what the checkpoint says of itself.
func (r *lineReader) heed(m *action.CheckpointMetadata) (err error) {
	if text := m.Tags[linesTag]; text != "" {
		if r.wantLines, err = strconv.Atoi(text); err != nil {
			return err
		}
	}
	if text := m.Tags[sumTag]; text != "" {
		sum, err := strconv.ParseUint(text, 16, 32)
		if err != nil {
			return err
		}
		r.wantSum, r.summed = uint32(sum), true
	}
	return nil
}

// head reads the first line, and reports whether it tells the checksum of the others.
func (r *lineReader) head() (summed bool, err error) {
	line, err := r.next()
	if err == io.EOF {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	a, err := action.DecodeLine(line)
	if err == nil && a.CheckpointMetadata != nil {
		err = r.heed(a.CheckpointMetadata)
	}
	if err != nil {
		return false, fmt.Errorf("line 1: %w", err)
	}
	return r.summed, nil
}

// check holds all lines against what the checkpoint says of itself.
func (r *lineReader) check() error {
	if r.wantLines >= 0 && r.lines != r.wantLines {
		return fmt.Errorf("it has %d lines and should have %d", r.lines, r.wantLines)
	}
	if r.summed && r.sum != r.wantSum {
		return fmt.Errorf("its checksum is %08x and should be %08x", r.sum, r.wantSum)
	}
	return nil
}
