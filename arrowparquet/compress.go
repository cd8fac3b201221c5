package arrowparquet

import (
	"fmt"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// A compressor compresses pages. It is used by one goroutine.
type compressor interface {
	codec() format.CompressionCodec
	// compress appends the compressed src to dst.
	compress(dst, src []byte) []byte
}

func newCompressor(name string) (compressor, error) {
	switch name {
	case None:
		return noCompression{}, nil
	case Zstd:
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20))
		if err != nil {
			return nil, fmt.Errorf("arrowparquet: zstd: %w", err)
		}
		return zstdCompressor{enc}, nil
	}
	return snappyCompressor{}, nil
}

type noCompression struct{}

func (noCompression) codec() format.CompressionCodec  { return format.Uncompressed }
func (noCompression) compress(dst, src []byte) []byte { return append(dst, src...) }

// snappyCompressor is the fast level; the snappy package of the same library would take its better, slower one.
type snappyCompressor struct{}

func (snappyCompressor) codec() format.CompressionCodec { return format.Snappy }

func (snappyCompressor) compress(dst, src []byte) []byte {
	n, need := len(dst), s2.MaxEncodedLen(len(src))
	if cap(dst)-n < need {
		grown := make([]byte, n, 2*n+need)
		copy(grown, dst)
		dst = grown
	}
	return extend(dst, s2.EncodeSnappy(dst[n:n+need], src))
}

type zstdCompressor struct{ enc *zstd.Encoder }

func (zstdCompressor) codec() format.CompressionCodec { return format.Zstd }

func (z zstdCompressor) compress(dst, src []byte) []byte { return z.enc.EncodeAll(src, dst) }
