package files

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"microbatch/internal/errcode"
)

const (
	// inflateBuffer is how much of a compressed file is read at once.
	inflateBuffer = 1 << 20
	// maxWindow bounds the memory that a zstd frame may ask for; `zstd --long=27` needs this much.
	maxWindow = 128 << 20
)

// inflater decompresses a file, and tells a damaged file from one that could not be read, and both from a bomb.
type inflater struct {
	name  string
	input *inputErrors
	r     io.Reader
	close func()
	limit int64 // bytes that may still come
}

// inputErrors remembers an error of the compressed input itself.
type inputErrors struct {
	r   io.Reader
	err error
}

func (i *inputErrors) Read(p []byte) (int, error) {
	n, err := i.r.Read(p)
	if err != nil && err != io.EOF {
		i.err = err
	}
	return n, err
}

func newInflater(kind string, r io.Reader, name string, limit int64) (*inflater, error) {
	in := &inputErrors{r: r}
	i := &inflater{name: name, input: in, limit: limit, close: func() {}}
	buffered := bufio.NewReaderSize(in, inflateBuffer)
	var err error
	switch kind {
	case "gz":
		i.r, err = gzip.NewReader(buffered)
	case "zst":
		var d *zstd.Decoder
		d, err = zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err == nil {
			i.r, i.close = d, d.Close
		}
	}
	if err != nil {
		return nil, i.explain(err)
	}
	return i, nil
}

// Read reads decompressed bytes.
func (i *inflater) Read(p []byte) (int, error) {
	n, err := i.r.Read(p)
	if i.limit -= int64(n); i.limit < 0 {
		return 0, errcode.FileBomb.New(i.name, "")
	}
	if err != nil && err != io.EOF {
		err = i.explain(err)
	}
	return n, err
}

func (i *inflater) explain(err error) error {
	if i.input.err != nil {
		return i.input.err
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // an empty or cut header
	}
	return errcode.ArchiveDamaged.Wrap(err, i.name, "")
}
