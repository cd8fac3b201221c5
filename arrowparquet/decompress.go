package arrowparquet

import (
	"bytes"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// A decompressor undoes the compression of pages. It is used by one goroutine.
type decompressor struct {
	zstd  *zstd.Decoder
	limit uint64
}

// decompress returns exactly size bytes, in dst where that has room. What the input claims of itself costs no memory beyond that.
func (d *decompressor) decompress(codec format.CompressionCodec, dst, src []byte, size int) ([]byte, error) {
	if cap(dst) < size {
		dst = make([]byte, size)
	}
	dst = dst[:size]
	switch codec {
	case format.Snappy:
		if n, err := s2.DecodedLen(src); err != nil || n != size {
			return nil, fmt.Errorf("damaged snappy data")
		}
		return s2.Decode(dst, src)
	case format.Zstd:
		return d.unzstd(dst, src)
	case format.Gzip:
		r, err := gzip.NewReader(bytes.NewReader(src))
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		return fill(dst, r)
	case format.Brotli:
		return fill(dst, brotli.NewReader(bytes.NewReader(src)))
	case format.Lz4Raw:
		if size == 0 {
			return dst, nil
		}
		n, err := lz4.UncompressBlock(src, dst)
		if err != nil || n != size {
			return nil, fmt.Errorf("damaged lz4 data")
		}
		return dst, nil
	}
	return nil, fmt.Errorf("compression %s is not supported", codec)
}

func (d *decompressor) unzstd(dst, src []byte) ([]byte, error) {
	if d.zstd == nil {
		dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(d.limit), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		d.zstd = dec
	}
	size := len(dst)
	out, err := d.zstd.DecodeAll(src, dst[:0])
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	if len(out) != size {
		return nil, fmt.Errorf("zstd: %d bytes instead of %d", len(out), size)
	}
	return out, nil
}

func (d *decompressor) close() {
	if d.zstd != nil {
		d.zstd.Close()
	}
}

func fill(dst []byte, r io.Reader) ([]byte, error) {
	if _, err := io.ReadFull(r, dst); err != nil {
		return nil, fmt.Errorf("damaged compressed data: %w", err)
	}
	return dst, nil
}
