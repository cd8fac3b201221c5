package arrowparquet

import (
	"encoding/binary"
	"math/bits"

	"github.com/parquet-go/parquet-go/encoding/delta"
)

// frontCoder is scratch memory to write strings without what each shares with the one before (DELTA_BYTE_ARRAY in the format's Encodings.md).
type frontCoder struct {
	lengths []int32  // of what is shared
	offs    []uint32 // rest i is data[offs[i]:offs[i+1]]
	data    []byte
}

// cut computes the prefixes and what is left of each string.
func (f *frontCoder) cut(v *values) {
	f.lengths, f.offs = f.lengths[:0], append(f.offs[:0], 0)
	f.data = resize(f.data, int(v.offs[v.n]-v.offs[0]))
	var last []byte
	end := 0
	for i := range v.n {
		s := v.data[v.offs[i]:v.offs[i+1]]
		n := shared(last, s)
		end += copy(f.data[end:], s[n:])
		f.lengths = append(f.lengths, int32(n))
		f.offs = append(f.offs, uint32(end))
		last = s
	}
	f.data = f.data[:end]
}

// encode appends the prefixes' lengths and the rests to dst.
func (f *frontCoder) encode(dst []byte) ([]byte, error) {
	var ints delta.BinaryPackedEncoding
	out, err := ints.EncodeInt32(dst[len(dst):], f.lengths)
	if err != nil {
		return nil, err
	}
	dst = extend(dst, out)
	var strings delta.LengthByteArrayEncoding
	out, err = strings.EncodeByteArray(dst[len(dst):], f.data, f.offs)
	return extend(dst, out), err
}

// shared is how many bytes two strings have in common at their beginning.
func shared(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)>>3
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
