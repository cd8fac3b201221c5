package foreachbatch

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync"

	"microbatch/internal/errcode"
	"microbatch/internal/invariant"
)

// refusals are the rows of a batch that a service refuses, as JSON lines in a file that has no name any more, so that all of a batch may be refused. It is made for the
// first one. They are an objstore.Content.
type refusals struct {
	dir string

	mu   sync.Mutex
	file *os.File // nil before the first row
	out  *bufio.Writer
	size int64
}

func (r *refusals) add(c call, a *answer) error {
	line, err := json.Marshal(struct {
		Operation string `json:"operation"`
		Status    int    `json:"status"`
		Answer    string `json:"answer"`
		Row       string `json:"row"`
	}{c.key, a.status, strings.TrimPrefix(a.text, ": "), string(c.body)})
	invariant.Check(err == nil, "texts and a number are JSON")
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		if r.file, err = unnamedFile(r.dir); err != nil {
			return errcode.SpoolFailed.Wrap(err, r.dir, "refused rows")
		}
		r.out = bufio.NewWriter(r.file)
	}
	n, err := r.out.Write(append(line, '\n'))
	r.size += int64(n)
	if err != nil {
		return errcode.SpoolFailed.Wrap(err, r.dir, "refused rows")
	}
	return nil
}

// end is for the last row.
func (r *refusals) end() error {
	if r.file == nil {
		return nil
	}
	if err := r.out.Flush(); err != nil {
		return errcode.SpoolFailed.Wrap(err, r.dir, "refused rows")
	}
	return nil
}

// close frees the file, which nothing needs any more.
func (r *refusals) close() {
	if r.file != nil {
		_ = r.file.Close()
	}
}

// Size is the length of all lines in bytes.
func (r *refusals) Size() int64 { return r.size }

// Reader reads the lines from their beginning.
func (r *refusals) Reader() io.ReadSeeker {
	if r.file == nil {
		return strings.NewReader("")
	}
	return io.NewSectionReader(r.file, 0, r.size)
}
