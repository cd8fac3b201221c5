package json

import (
	"math"

	"microbatch/codec/column"
)

// Words of eight equal bytes.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
	zeros = 0x3030303030303030 // "00000000"
)

// digitCount is how many digits the lowest bytes of a word are.
func digitCount(w uint64) int {
	mask := ((w + 0x46*ones) | (w - zeros)) & highs // exact up to the first byte that is no digit
	if mask == 0 {
		return 8
	}
	return firstByte(mask)
}

// eightDigits is the number that n digits in the lowest bytes of a word, 1 to 8, are in decimal.
func eightDigits(w uint64, n int) int64 {
	w = (w ^ zeros) << (64 - 8*uint(n)) // the digits in the highest bytes, leading zeros below
	w = w*10 + w>>8                     // pairs
	w = ((w & 0x000000ff000000ff) * (100 + 1000000<<32)) + (((w >> 16) & 0x000000ff000000ff) * (1 + 10000<<32))
	return int64(w >> 32)
}

var pow10 = [...]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}

// integer reads a whole number; next is -1 if there is none, or it does not fit, or has a fraction or an exponent.
func integer(b []byte, i int) (v int64, next int) {
	negative := b[i] == '-'
	if negative {
		i++
	}
	w := load(b, i)
	n := digitCount(w)
	if n == 0 || b[i] == '0' && n > 1 {
		return 0, -1
	}
	v = eightDigits(w, n)
	if n == 8 {
		if v, n = moreDigits(b, i, v); n < 0 {
			return 0, -1
		}
	}
	i += n
	if c := b[i]; c == '.' || c|0x20 == 'e' {
		return 0, -1
	}
	if negative {
		return -v, i
	}
	if v < 0 { // only -2^63 has this magnitude
		return 0, -1
	}
	return v, i
}

// moreDigits goes on behind the first eight digits at b[i:], whose value is v; n is the number of all digits, -1 if they are too many. The value
// 2^63 comes back as its negative.
func moreDigits(b []byte, i int, v int64) (int64, int) {
	w := load(b, i+8)
	n := digitCount(w)
	if n == 0 {
		return v, 8
	}
	v = v*pow10[n] + eightDigits(w, n)
	if n < 8 {
		return v, 8 + n
	}
	u := uint64(v)
	for n = 16; b[i+n]-'0' <= 9; n++ {
		if n >= 19 {
			return 0, -1
		}
		u = u*10 + uint64(b[i+n]-'0') // below 10^19 < 2^64
	}
	if u > 1<<63 {
		return 0, -1
	}
	return int64(u), n
}

// float reads a number; next is -1 if there is none, or it is too large for a double.
func float(b []byte, i int) (v float64, next int) {
	j := i
	if b[j] == '-' {
		j++
	}
	first := j
	mantissa := uint64(0)
	for ; b[j]-'0' <= 9; j++ {
		mantissa = mantissa*10 + uint64(b[j]-'0')
	}
	n, exponent := j-first, 0
	if b[j] == '.' {
		point := j
		for j++; b[j]-'0' <= 9; j++ {
			mantissa = mantissa*10 + uint64(b[j]-'0')
		}
		exponent = point + 1 - j
		n -= exponent
		if exponent == 0 {
			return 0, -1
		}
	}
	if n == 0 || n > 18 || b[j]|0x20 == 'e' || b[first] == '0' && b[first+1]-'0' <= 9 || b[first] == '.' {
		return exactFloat(b, i)
	}
	v, ok := column.Float(mantissa, exponent)
	if !ok {
		return exactFloat(b, i)
	}
	if first > i {
		v = math.Copysign(v, -1)
	}
	return v, j
}

// exactFloat reads a number whose value takes more than one operation.
func exactFloat(b []byte, i int) (float64, int) {
	j := numberEnd(b, i)
	if j < 0 {
		return 0, -1
	}
	v, ok := column.ParseFloat(b[i:j])
	if !ok {
		return 0, -1
	}
	return v, j
}

// numberEnd is where the number at b[i:] ends; -1 if JSON's grammar has no number there.
func numberEnd(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	first := i
	i = digitsEnd(b, i)
	if i == first || b[first] == '0' && i > first+1 {
		return -1
	}
	if b[i] == '.' {
		first = i + 1
		if i = digitsEnd(b, first); i == first {
			return -1
		}
	}
	if b[i]|0x20 == 'e' {
		i++
		if b[i] == '+' || b[i] == '-' {
			i++
		}
		first = i
		if i = digitsEnd(b, first); i == first {
			return -1
		}
	}
	return i
}

// digitsEnd is where the digits at b[i:] end.
func digitsEnd(b []byte, i int) int {
	for b[i]-'0' <= 9 {
		i++
	}
	return i
}

// notFinite is where a bare name of a number that is not finite ends; 0 if there is none. Python writes them.
func notFinite(b []byte, i int) int {
	for _, name := range [...]string{"NaN", "Infinity", "-Infinity", "+Infinity", "INF", "-INF", "+INF"} {
		if string(b[i:i+len(name)]) == name {
			return i + len(name)
		}
	}
	return 0
}
