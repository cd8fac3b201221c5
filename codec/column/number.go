package column

import (
	"math"
	"math/big"
	"strconv"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// ParseInt reads a whole number: an optional sign and digits. False if there is anything else, or it does not fit 64 bits.
func ParseInt(b []byte) (int64, bool) {
	negative := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		negative = b[0] == '-'
		b = b[1:]
	}
	if len(b) == 0 {
		return 0, false
	}
	var v uint64
	for _, c := range b {
		c -= '0'
		if c > 9 || v > (math.MaxUint64-9)/10 {
			return 0, false
		}
		v = v*10 + uint64(c)
	}
	if negative {
		return -int64(v), v <= 1<<63
	}
	return int64(v), v <= math.MaxInt64
}

// AppendInt appends a whole number to a column of kind Int8, Int16, Int32 or Int64; false, and nothing appended, if it does not fit.
func (c *Column) AppendInt(v int64) bool {
	switch c.kind {
	case Int64:
		c.AppendInt64(v)
	case Int32:
		if int64(int32(v)) != v {
			return false
		}
		c.AppendInt32(int32(v))
	case Int16:
		if int64(int16(v)) != v {
			return false
		}
		c.AppendInt16(int16(v))
	default:
		if int64(int8(v)) != v {
			return false
		}
		c.AppendInt8(int8(v))
	}
	return true
}

// AppendFloat appends to a Float64 or Float32 column; false, and nothing appended, if a finite number passes the range of FLOAT.
func (c *Column) AppendFloat(v float64) bool {
	if c.kind == Float64 {
		c.AppendInt64(int64(math.Float64bits(v)))
		return true
	}
	f := float32(v)
	if math.IsInf(float64(f), 0) && !math.IsInf(v, 0) {
		return false
	}
	c.AppendInt32(int32(math.Float32bits(f)))
	return true
}

// pow10 are the powers of ten that a double holds exactly.
var pow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// Float is mantissa * 10^exponent exactly rounded, if that takes one operation on doubles.
func Float(mantissa uint64, exponent int) (v float64, ok bool) {
	if mantissa > 1<<53 || exponent < -22 || exponent > 22 {
		return 0, false
	}
	if exponent < 0 {
		return float64(mantissa) / pow10[-exponent], true
	}
	return float64(mantissa) * pow10[exponent], true
}

// ParseFloat reads a decimal number with optional fraction and exponent, or a name of FloatName. False if the text is none, or too large for a double;
// a number too small for one is 0.
func ParseFloat(b []byte) (float64, bool) {
	mantissa, exponent, n, i := uint64(0), 0, 0, 0
	negative := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		negative = b[0] == '-'
		i++
	}
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		mantissa = mantissa*10 + uint64(b[i]-'0')
		n++
	}
	if i < len(b) && b[i] == '.' {
		for i++; i < len(b) && b[i]-'0' <= 9; i++ {
			mantissa = mantissa*10 + uint64(b[i]-'0')
			n++
			exponent--
		}
	}
	if i == len(b) && n > 0 && n <= 18 {
		if v, ok := Float(mantissa, exponent); ok {
			if negative {
				v = -v
			}
			return v, true
		}
	}
	if n == 0 {
		return FloatName(b)
	}
	for _, c := range b[i:] {
		if c-'0' > 9 && c != 'e' && c != 'E' && c != '+' && c != '-' {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(b), len(b)), 64)
	return v, err == nil
}

// FloatName reads the names Spark has for what is not a finite number: NaN, and INF, Infinity, with or without a sign.
func FloatName(b []byte) (float64, bool) {
	switch string(b) {
	case "NaN":
		return math.NaN(), true
	case "INF", "+INF", "Infinity", "+Infinity":
		return math.Inf(1), true
	case "-INF", "-Infinity":
		return math.Inf(-1), true
	}
	return 0, false
}

// ParseDecimal reads a decimal number with optional fraction and exponent as a DECIMAL(precision, scale): digits beyond the scale are rounded half up
// (away from zero), as in Spark. False if the text is no number, or it has too many digits before the point.
func ParseDecimal(b []byte, precision, scale int32) (decimal128.Num, bool) {
	n, ok := splitNumber(b)
	if !ok {
		return decimal128.Num{}, false
	}
	shift := int(scale) + n.exponent
	if n.digits > 18 || shift > 18 || n.digits+shift > 18 {
		return n.wide(shift, precision)
	}
	v := n.mantissa
	switch {
	case shift >= 0:
		v *= int64pow10[shift]
	case shift < -18:
		v = 0
	default:
		unit := int64pow10[-shift]
		v = (v + unit/2) / unit
	}
	if precision <= 18 && v >= int64pow10[precision] {
		return decimal128.Num{}, false
	}
	if n.negative {
		v = -v
	}
	return decimal128.FromI64(v), true
}

var int64pow10 = [...]int64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

// number is the text of a decimal number taken apart.
type number struct {
	negative bool
	whole    []byte // the digits before and
	fraction []byte // after the point
	digits   int    // significant ones: without leading zeros
	mantissa int64  // whole and fraction as one number, if digits <= 18
	exponent int    // of the mantissa; clamped to +-100,000
}

// splitNumber takes a number apart.
func splitNumber(b []byte) (n number, ok bool) {
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		n.negative = b[0] == '-'
		b = b[1:]
	}
	n.whole, b = n.takeDigits(b)
	if len(b) > 0 && b[0] == '.' {
		n.fraction, b = n.takeDigits(b[1:])
	}
	if len(n.whole)+len(n.fraction) == 0 {
		return n, false
	}
	if len(b) > 0 {
		if b[0] != 'e' && b[0] != 'E' {
			return n, false
		}
		if n.exponent, ok = parseExponent(b[1:]); !ok {
			return n, false
		}
	}
	n.exponent -= len(n.fraction)
	return n, true
}

// takeDigits reads digits into the mantissa.
func (n *number) takeDigits(b []byte) (taken, rest []byte) {
	i := 0
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		if n.digits > 0 || b[i] != '0' {
			n.digits++
		}
		n.mantissa = n.mantissa*10 + int64(b[i]-'0')
	}
	return b[:i], b[i:]
}

// parseExponent reads what follows the e, clamped to what is far beyond every decimal.
func parseExponent(b []byte) (int, bool) {
	const far = 100_000
	v, ok := ParseInt(b)
	if !ok { // perhaps only too long
		i := 0
		if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
			i = 1
		}
		for _, c := range b[i:] {
			if c-'0' > 9 {
				return 0, false
			}
		}
		if len(b) == i {
			return 0, false
		}
		v = far
		if b[0] == '-' {
			v = -far
		}
	}
	return int(max(-far, min(far, v))), true
}

// wide is mantissa * 10^shift rounded half up, for numbers beyond 64 bits.
func (n *number) wide(shift int, precision int32) (decimal128.Num, bool) {
	switch {
	case n.digits == 0:
		return decimal128.Num{}, true
	case n.digits+shift > int(precision):
		return decimal128.Num{}, false
	case n.digits+shift < 0:
		return decimal128.Num{}, true
	}
	text := append(append(make([]byte, 0, len(n.whole)+len(n.fraction)+40), n.whole...), n.fraction...)
	round := false
	if shift < 0 {
		cut := len(text) + shift
		if cut < 0 { // leading zeros are missing: the value is below one unit
			return decimal128.Num{}, true
		}
		round = text[cut] >= '5'
		text = text[:cut]
	}
	for range shift {
		text = append(text, '0')
	}
	v := new(big.Int)
	if len(text) > 0 {
		v.SetString(string(text), 10)
	}
	if round {
		v.Add(v, big.NewInt(1))
	}
	if v.Cmp(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(precision)), nil)) >= 0 {
		return decimal128.Num{}, false
	}
	if n.negative {
		v.Neg(v)
	}
	return decimal128.FromBigInt(v), true
}
