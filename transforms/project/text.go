package project

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// How texts are read and written in casts and literals. Nothing here allocates for each value but the errors of strconv.

const secondsPerDay = 24 * 60 * 60

func parseInt(s string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	return n, err == nil
}

func parseFloat(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	if strings.ContainsAny(s, "_xXpP") { // Go's own spellings
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

func parseBool(s string) (value, ok bool) {
	s = strings.TrimSpace(s)
	for _, word := range [...]string{"true", "t", "yes", "y", "1"} {
		if strings.EqualFold(s, word) {
			return true, true
		}
	}
	for _, word := range [...]string{"false", "f", "no", "n", "0"} {
		if strings.EqualFold(s, word) {
			return false, true
		}
	}
	return false, false
}

// parseDecimal reads a number with a point and an exponent, rounded half up to the scale; false if it is none, or has too many digits.
func parseDecimal(s string, precision, scale int32) (decimal128.Num, bool) {
	s = strings.TrimSpace(s)
	negative := strings.HasPrefix(s, "-")
	mantissa, exponent, ok := splitExponent(trimSign(s))
	if !ok {
		return decimal128.Num{}, false
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	whole = strings.TrimLeft(whole, "0")
	digits := len(whole) + len(fraction)
	// The value is (whole fraction) * 10^(exponent - len(fraction)); keep says how many of its digits stay at the scale, or with zeros behind.
	keep := digits + exponent - len(fraction) + int(scale)
	if keep < 0 {
		return decimal128.Num{}, true
	}
	var n unsigned128
	for i := range keep {
		d := digitAt(whole, fraction, i)
		if n.hi>>59 != 0 {
			return decimal128.Num{}, false // 39 digits
		}
		if n == (unsigned128{}) && d == 0 && i >= digits {
			break // zero stays zero
		}
		n.push(d)
	}
	if digitAt(whole, fraction, keep) >= 5 {
		n.increment()
	}
	num := decimal128.New(int64(n.hi), n.lo)
	if negative {
		num = num.Negate()
	}
	return num, num.FitsInPrecision(precision)
}

func trimSign(s string) string {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		return s[1:]
	}
	return s
}

// splitExponent checks the form digits[.digits][e[+-]digits], with at least one digit, behind the sign.
func splitExponent(s string) (mantissa string, exponent int, ok bool) {
	mantissa, e, has := s, "", false
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		mantissa, e, has = s[:at], s[at+1:], true
	}
	if has {
		n, err := strconv.ParseInt(e, 10, 32)
		if err != nil || n > 10000 || n < -10000 {
			return "", 0, false
		}
		exponent = int(n)
	}
	points, digits := 0, 0
	for i := range len(mantissa) {
		switch c := mantissa[i]; {
		case c == '.':
			points++
		case c >= '0' && c <= '9':
			digits++
		default:
			return "", 0, false
		}
	}
	return mantissa, exponent, points <= 1 && digits > 0
}

func digitAt(whole, fraction string, i int) uint64 {
	switch {
	case i < len(whole):
		return uint64(whole[i] - '0')
	case i < len(whole)+len(fraction):
		return uint64(fraction[i-len(whole)] - '0')
	}
	return 0
}

type unsigned128 struct{ hi, lo uint64 }

// push multiplies by ten and adds a digit.
func (n *unsigned128) push(digit uint64) {
	high, low := bits.Mul64(n.lo, 10)
	var carry uint64
	n.lo, carry = bits.Add64(low, digit, 0)
	n.hi = n.hi*10 + high + carry
}

func (n *unsigned128) increment() {
	var carry uint64
	n.lo, carry = bits.Add64(n.lo, 1, 0)
	n.hi += carry
}

// parseDate reads YYYY-MM-DD as days since 1970.
func parseDate(s string) (int32, bool) {
	days, rest, ok := cutDate(strings.TrimSpace(s))
	return int32(days), ok && rest == ""
}

// cutDate reads a date at the beginning of s.
func cutDate(s string) (days int64, rest string, ok bool) {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return 0, "", false
	}
	year, ok1 := digits(s[:4])
	month, ok2 := digits(s[5:7])
	day, ok3 := digits(s[8:10])
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if !ok1 || !ok2 || !ok3 || t.Day() != day || int(t.Month()) != month {
		return 0, "", false
	}
	return t.Unix() / secondsPerDay, s[10:], true
}

func digits(s string) (int, bool) {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}

// parseTimestamp reads "YYYY-MM-DD[ T]HH:MM[:SS[.ffffff]][zone]", or a date alone, as microseconds since 1970. A text without a zone is taken
// as UTC; zoned says whether it had one.
func parseTimestamp(s string) (micros int64, zoned, ok bool) {
	days, rest, ok := cutDate(strings.TrimSpace(s))
	if !ok || rest == "" {
		return days * secondsPerDay * 1e6, false, ok
	}
	if rest[0] != ' ' && rest[0] != 'T' {
		return 0, false, false
	}
	clock, zone := cutZone(rest[1:])
	ofDay, ok1 := parseClock(clock)
	offset, ok2 := parseZone(zone)
	return (days*secondsPerDay-offset)*1e6 + ofDay, zone != "", ok1 && ok2
}

func cutZone(s string) (clock, zone string) {
	if at := strings.IndexAny(s, "Zz+-"); at >= 0 {
		return strings.TrimRight(s[:at], " "), s[at:]
	}
	return s, ""
}

// parseClock reads HH:MM[:SS[.ffffff]] as microseconds; digits behind the sixth are dropped.
func parseClock(s string) (int64, bool) {
	if len(s) < 5 || s[2] != ':' {
		return 0, false
	}
	hour, ok1 := digits(s[:2])
	minute, ok2 := digits(s[3:5])
	if !ok1 || !ok2 || hour > 23 || minute > 59 {
		return 0, false
	}
	micros := int64(hour*3600+minute*60) * 1e6
	s = s[5:]
	if s == "" {
		return micros, true
	}
	if len(s) < 3 || s[0] != ':' {
		return 0, false
	}
	second, ok := digits(s[1:3])
	if !ok || second > 59 {
		return 0, false
	}
	fraction, ok := parseFraction(s[3:])
	return micros + int64(second)*1e6 + fraction, ok
}

func parseFraction(s string) (int64, bool) {
	if s == "" {
		return 0, true
	}
	if s[0] != '.' || len(s) < 2 || len(s) > 10 {
		return 0, false
	}
	n, ok := digits(s[1:min(len(s), 7)])
	for range max(0, 7-len(s)) {
		n *= 10
	}
	_, ok2 := digits(s[min(len(s), 7):])
	return int64(n), ok && ok2
}

// parseZone reads Z, +HH, +HHMM or +HH:MM as seconds east of UTC.
func parseZone(s string) (int64, bool) {
	if s == "" || s == "Z" || s == "z" {
		return 0, true
	}
	sign := int64(1)
	if s[0] == '-' {
		sign = -1
	}
	body := s[1:]
	if len(body) == 5 && body[2] == ':' {
		body = body[:2] + body[3:]
	}
	hours, ok := digits(body[:min(2, len(body))])
	minutes := 0
	if len(body) == 4 {
		var ok2 bool
		minutes, ok2 = digits(body[2:])
		ok = ok && ok2
	}
	return sign * int64(hours*3600+minutes*60), ok && (len(body) == 2 || len(body) == 4) && hours <= 18 && minutes < 60
}

func appendDate(b []byte, days int32) []byte {
	return time.Unix(int64(days)*secondsPerDay, 0).UTC().AppendFormat(b, time.DateOnly)
}

// appendTimestamp writes microseconds as "YYYY-MM-DD HH:MM:SS[.ffffff]" in UTC.
func appendTimestamp(b []byte, micros int64) []byte {
	return time.UnixMicro(micros).UTC().AppendFormat(b, "2006-01-02 15:04:05.999999")
}

func appendFloat(b []byte, f float64, size int) []byte {
	if math.IsInf(f, 0) {
		return append(b, map[bool]string{true: "Infinity", false: "-Infinity"}[f > 0]...)
	}
	return strconv.AppendFloat(b, f, 'g', -1, size)
}
