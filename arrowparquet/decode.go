package arrowparquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
)

// decodeValues replaces v by the n values of a page's body. maximum bounds the bytes that they may take.
func (v *values) decode(s *stored, encoding format.Encoding, b []byte, n int, maximum int64) error {
	v.reset()
	v.n = n
	switch encoding {
	case format.Plain:
		return v.plain(s, b, n)
	case format.DeltaBinaryPacked:
		return v.deltaInts(s, b, n)
	case format.DeltaLengthByteArray:
		return v.deltaLengths(s, b, n)
	case format.DeltaByteArray:
		return v.deltaBytes(s, b, n, maximum)
	case format.ByteStreamSplit:
		return v.streamSplit(s, b, n)
	case format.RLE:
		if s.typ == format.Boolean && len(b) >= 4 {
			var err error
			v.bools, err = decodeLevels(v.bools, b[4:], 1, n)
			return err
		}
	}
	return fmt.Errorf("encoding %s is not supported for %s", encoding, s.typ)
}

// decodeLevels replaces dst by n levels.
func decodeLevels(dst []uint8, b []byte, width, n int) ([]uint8, error) {
	if width > 8 {
		return nil, errPage
	}
	runs, err := checkRuns(b, width, n)
	if err != nil {
		return nil, err
	}
	enc := rle.Encoding{BitWidth: width}
	if dst, err = enc.DecodeLevels(dst, runs); err != nil || len(dst) < n {
		return nil, errPage
	}
	return dst[:n], nil
}

// decodeIndexes replaces dst by n indexes into a dictionary of size entries.
func decodeIndexes(dst []int32, b []byte, n, size int) ([]int32, error) {
	if n == 0 {
		return dst[:0], nil
	}
	if len(b) == 0 {
		return nil, errPage
	}
	runs, err := checkRuns(b[1:], int(b[0]), n)
	if err != nil {
		return nil, err
	}
	enc := rle.Encoding{BitWidth: int(b[0])}
	if dst, err = enc.DecodeInt32(dst, runs); err != nil || len(dst) < n {
		return nil, errPage
	}
	dst = dst[:n]
	for _, i := range dst {
		if uint32(i) >= uint32(size) {
			return nil, errPage
		}
	}
	return dst, nil
}

func (v *values) plain(s *stored, b []byte, n int) error {
	if w := plainWidth(s); w > 0 && len(b) < w*n {
		return errPage
	}
	switch s.typ {
	case format.Boolean:
		if len(b) < (n+7)/8 {
			return errPage
		}
		for i := range n {
			v.bools = append(v.bools, b[i>>3]>>(i&7)&1)
		}
	case format.Int32:
		v.i32 = resize(v.i32, n)
		copy(asBytes(v.i32), b)
	case format.Int64:
		v.i64 = resize(v.i64, n)
		copy(asBytes(v.i64), b)
	case format.Float:
		v.f32 = resize(v.f32, n)
		copy(asBytes(v.f32), b)
	case format.Double:
		v.f64 = resize(v.f64, n)
		copy(asBytes(v.f64), b)
	case format.Int96:
		v.int96(b, n)
	case format.FixedLenByteArray:
		v.fixed = append(v.fixed, b[:n*s.length]...)
	case format.ByteArray:
		return v.plainBytes(b, n)
	}
	return nil
}

// plainWidth is the bytes of a value, if they are fixed.
func plainWidth(s *stored) int {
	switch s.typ {
	case format.Int32, format.Float:
		return 4
	case format.Int64, format.Double:
		return 8
	case format.Int96:
		return 12
	case format.FixedLenByteArray:
		return s.length
	}
	return 0
}

func (v *values) plainBytes(b []byte, n int) error {
	n4 := min(n, len(b)/4)
	v.offs = append(slices.Grow(v.offs, n4+1), 0)
	v.data = slices.Grow(v.data, len(b)-4*n4) // growing step by step would take three times as much
	for range n {
		if len(b) < 4 {
			return errPage
		}
		size := binary.LittleEndian.Uint32(b)
		if b = b[4:]; uint64(size) > uint64(len(b)) {
			return errPage
		}
		v.data = append(v.data, b[:size]...)
		v.offs = append(v.offs, uint32(len(v.data)))
		b = b[size:]
	}
	return nil
}

// int96 reads Impala's and Spark's old timestamps as microseconds: 8 bytes of nanoseconds in the day, 4 of the Julian day.
func (v *values) int96(b []byte, n int) {
	const unixEpoch = 2440588 // as a Julian day
	for range n {
		ns, day := int64(binary.LittleEndian.Uint64(b)), int64(int32(binary.LittleEndian.Uint32(b[8:])))
		v.i64 = append(v.i64, (day-unixEpoch)*86_400_000_000+ns/1000)
		b = b[12:]
	}
}

func (v *values) deltaInts(s *stored, b []byte, n int) error {
	bits := 32
	if s.typ == format.Int64 {
		bits = 64
	} else if s.typ != format.Int32 {
		return fmt.Errorf("DELTA_BINARY_PACKED for %s", s.typ)
	}
	packed, _, err := checkDelta(b, bits, n)
	if err != nil {
		return err
	}
	var enc delta.BinaryPackedEncoding
	if bits == 64 {
		v.i64, err = enc.DecodeInt64(v.i64, packed)
	} else {
		v.i32, err = enc.DecodeInt32(v.i32, packed)
	}
	if err != nil || len(v.i32)+len(v.i64) != n {
		return errPage
	}
	return nil
}

// lengths reads n lengths and returns what follows them.
func lengths(b []byte, n int) ([]int32, []byte, error) {
	packed, rest, err := checkDelta(b, 32, n)
	if err != nil {
		return nil, nil, err
	}
	var enc delta.BinaryPackedEncoding
	out, err := enc.DecodeInt32(nil, packed)
	if err != nil || len(out) != n {
		return nil, nil, errPage
	}
	for _, l := range out {
		if l < 0 {
			return nil, nil, errPage
		}
	}
	return out, rest, nil
}

func (v *values) deltaLengths(s *stored, b []byte, n int) error {
	if s.typ != format.ByteArray {
		return fmt.Errorf("DELTA_LENGTH_BYTE_ARRAY for %s", s.typ)
	}
	sizes, rest, err := lengths(b, n)
	if err != nil {
		return err
	}
	v.offs = append(v.offs, 0)
	total := 0
	for _, size := range sizes {
		if total += int(size); total > len(rest) {
			return errPage
		}
		v.offs = append(v.offs, uint32(total))
	}
	v.data = append(v.data, rest[:total]...)
	return nil
}

// deltaBytes reads strings of which each begins like the one before.
func (v *values) deltaBytes(s *stored, b []byte, n int, maximum int64) error {
	if s.typ != format.ByteArray && s.typ != format.FixedLenByteArray {
		return fmt.Errorf("DELTA_BYTE_ARRAY for %s", s.typ)
	}
	prefixes, rest, err := lengths(b, n)
	if err != nil {
		return err
	}
	suffixes, rest, err := lengths(rest, n)
	if err != nil {
		return err
	}
	v.offs = append(v.offs, 0)
	from := 0 // of the string before
	for i, p := range prefixes {
		size := int(suffixes[i])
		if int(p) > len(v.data)-from || size > len(rest) || int64(len(v.data))+int64(p)+int64(size) > min(maximum, math.MaxInt32) {
			return errPage
		}
		start := len(v.data)
		v.data = append(v.data, v.data[from:from+int(p)]...)
		v.data = append(v.data, rest[:size]...)
		rest, from = rest[size:], start
		v.offs = append(v.offs, uint32(len(v.data)))
		if s.typ == format.FixedLenByteArray && len(v.data) != (i+1)*s.length {
			return errPage
		}
	}
	if s.typ == format.FixedLenByteArray {
		v.fixed, v.data, v.offs = append(v.fixed, v.data...), v.data[:0], v.offs[:0]
	}
	return nil
}

// streamSplit reads values of which the first bytes come first, then the second bytes, and so on.
func (v *values) streamSplit(s *stored, b []byte, n int) error {
	w := plainWidth(s)
	if w == 0 || s.typ == format.Int96 || len(b) < w*n {
		return errPage
	}
	whole := make([]byte, w*n)
	for k := range w {
		for i, x := range b[k*n : (k+1)*n] {
			whole[i*w+k] = x
		}
	}
	return v.plain(s, whole, n)
}

// resize is s with n elements, whose values do not matter.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
