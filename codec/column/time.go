package column

import (
	"bytes"
	"encoding/binary"
)

// The instants a column can hold: years 1 to 9999, as in Spark and SQL.
const (
	minSecond       = -62135596800
	maxSecond       = 253402300799
	microsPerSecond = 1_000_000
	secondsPerDay   = 86400
	maxOffset       = 18 * 3600 // of a zone, in seconds
)

// AppendTimestamp reads a date and time, as ParseTimestamp does, and appends it to a Timestamp or TimestampNTZ column. A text without a zone is UTC;
// TimestampNTZ takes no zone. False: the text is none, and nothing was appended.
func (c *Column) AppendTimestamp(b []byte) bool {
	micros, zoned, ok := c.parseTimestamp(b)
	if !ok || zoned && c.kind == TimestampNTZ {
		return false
	}
	c.AppendInt64(micros)
	return true
}

// parseTimestamp is ParseTimestamp with a memory: rows that follow each other mostly share the minute.
func (c *Column) parseTimestamp(b []byte) (micros int64, zoned, ok bool) {
	if len(b) < 19 || b[16] != ':' {
		return ParseTimestamp(b)
	}
	if binary.LittleEndian.Uint64(b) != binary.LittleEndian.Uint64(c.minutePrefix[:]) ||
		binary.LittleEndian.Uint64(b[8:]) != binary.LittleEndian.Uint64(c.minutePrefix[8:]) {
		minute, ok := parseMinute(b[:16])
		if !ok {
			return ParseTimestamp(b)
		}
		copy(c.minutePrefix[:], b)
		c.minuteMicros = minute
	}
	second, ok := twoDigits(b[17], b[18])
	if !ok || second > 59 {
		return ParseTimestamp(b)
	}
	micros = c.minuteMicros + second*microsPerSecond
	if len(b) == 20 && b[19] == 'Z' {
		return micros, true, true
	}
	if len(b) == 27 && b[19] == '.' && b[26] == 'Z' {
		if fraction, ok := sixDigits(b[20:]); ok {
			return micros + fraction, true, true
		}
	}
	if micros, zoned, ok = addFractionAndZone(micros, b[19:]); ok {
		return micros, zoned, true
	}
	return ParseTimestamp(b)
}

// sixDigits reads exactly six digits of at least seven bytes, all at once: of a JSON row with one timestamp it saves 6 % (9 ns).
func sixDigits(b []byte) (v int64, ok bool) {
	w := uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[3:]))<<24 // seven bytes
	w = w<<16 ^ 0x3030303030300000                                                             // "00" and six digits, as numbers
	ok = (w|w+0x7676767676760000)&0x8080808080800000 == 0
	w = w*10 + w>>8 // pairs
	w = (w&0x000000ff000000ff)*(100+1000000<<32) + (w>>16&0x000000ff000000ff)*(1+10000<<32)
	return int64(w >> 32), ok
}

// parseMinute reads exactly "2006-01-02T15:04", or with a blank for the T.
func parseMinute(b []byte) (micros int64, ok bool) {
	days, ok := parseFixedDate(b[:10])
	if !ok || b[10] != 'T' && b[10] != ' ' || b[13] != ':' {
		return 0, false
	}
	hour, ok1 := twoDigits(b[11], b[12])
	minute, ok2 := twoDigits(b[14], b[15])
	if !ok1 || !ok2 || hour > 23 || minute > 59 {
		return 0, false
	}
	return (days*secondsPerDay + hour*3600 + minute*60) * microsPerSecond, true
}

// parseFixedDate reads exactly "2006-01-02" as days since 1970-01-01.
func parseFixedDate(b []byte) (days int64, ok bool) {
	hi, ok1 := twoDigits(b[0], b[1])
	lo, ok2 := twoDigits(b[2], b[3])
	month, ok3 := twoDigits(b[5], b[6])
	day, ok4 := twoDigits(b[8], b[9])
	if !ok1 || !ok2 || !ok3 || !ok4 || b[4] != '-' || b[7] != '-' {
		return 0, false
	}
	return civil(hi*100+lo, month, day)
}

// ParseTimestamp reads "2006[-01[-02[T15:04[:05[.999999999]]][zone]]]": a blank may stand for the T, month, day, hour, minute and second may have
// one digit, digits beyond microseconds are dropped. zone is Z, UTC, GMT, UT or an offset "+1", "+01", "+0130", "+01:30", also behind UTC or
// a blank; only behind a time of day. Blanks around the text are ignored. micros is the instant since 1970, of UTC if there is no zone.
// (Spark: DateTimeUtils.stringToTimestamp, without its region names, times without a date and years of more than 4 digits.)
func ParseTimestamp(b []byte) (micros int64, zoned, ok bool) {
	b = bytes.TrimSpace(b)
	days, rest, ok := parseDatePart(b)
	if !ok {
		return 0, false, false
	}
	micros = days * secondsPerDay * microsPerSecond
	if len(rest) == 0 || len(rest) == 1 && rest[0] == 'T' {
		return micros, false, true
	}
	if rest[0] != 'T' && rest[0] != ' ' {
		return 0, false, false
	}
	hour, rest, ok := digits(rest[1:], 2)
	if !ok || hour > 23 || len(rest) == 0 || rest[0] != ':' {
		return 0, false, false
	}
	minute, rest, ok := digits(rest[1:], 2)
	if !ok || minute > 59 {
		return 0, false, false
	}
	micros += (hour*3600 + minute*60) * microsPerSecond
	if len(rest) > 0 && rest[0] == ':' {
		var second int64
		if second, rest, ok = digits(rest[1:], 2); !ok || second > 59 {
			return 0, false, false
		}
		return addFractionAndZone(micros+second*microsPerSecond, rest)
	}
	return addZone(micros, rest)
}

// ParseDate reads a date as days since 1970-01-01: "2006[-01[-02]]" with one or two digits for month and day, or a timestamp, of which it takes
// the date as it is written. Blanks around the text are ignored.
func ParseDate(b []byte) (days int32, ok bool) {
	b = bytes.TrimSpace(b)
	d, rest, ok := parseDatePart(b)
	if ok && len(rest) > 0 {
		_, _, ok = ParseTimestamp(b)
	}
	return int32(d), ok
}

// EpochSeconds is an instant given in seconds since 1970; false outside of the years 1 to 9999.
func EpochSeconds(seconds int64) (micros int64, ok bool) {
	if seconds < minSecond || seconds > maxSecond {
		return 0, false
	}
	return seconds * microsPerSecond, true
}

// parseDatePart reads "2006", "2006-1" or "2006-1-2" from the beginning of b.
func parseDatePart(b []byte) (days int64, rest []byte, ok bool) {
	if len(b) < 4 {
		return 0, nil, false
	}
	year, rest, ok := digits(b, 4)
	if !ok || len(rest) != len(b)-4 {
		return 0, nil, false
	}
	month, day := int64(1), int64(1)
	if len(rest) > 0 && rest[0] == '-' {
		if month, rest, ok = digits(rest[1:], 2); !ok {
			return 0, nil, false
		}
		if len(rest) > 0 && rest[0] == '-' {
			if day, rest, ok = digits(rest[1:], 2); !ok {
				return 0, nil, false
			}
		}
	}
	days, ok = civil(year, month, day)
	return days, rest, ok
}

// microsOf is what one is worth in a fraction of so many digits.
var microsOf = [...]int64{0, 1e5, 1e4, 1e3, 1e2, 1e1, 1}

// addFractionAndZone reads "[.digits][zone]", the end of a timestamp.
func addFractionAndZone(micros int64, b []byte) (int64, bool, bool) {
	if len(b) > 0 && b[0] == '.' {
		i, fraction := 1, int64(0)
		for ; i < min(len(b), 1+6) && b[i]-'0' <= 9; i++ {
			fraction = fraction*10 + int64(b[i]-'0')
		}
		micros += fraction * microsOf[i-1]
		for i < len(b) && b[i]-'0' <= 9 {
			i++
		}
		b = b[i:]
	}
	return addZone(micros, b)
}

// addZone reads the zone, if any, and turns local time into UTC.
func addZone(micros int64, b []byte) (int64, bool, bool) {
	if len(b) == 0 {
		return micros, false, true
	}
	if len(b) == 1 && (b[0] == 'Z' || b[0] == 'z') {
		return micros, true, true
	}
	offset, ok := parseOffset(b)
	micros -= offset * microsPerSecond
	ok = ok && micros >= minSecond*microsPerSecond && micros < (maxSecond+1)*microsPerSecond
	return micros, true, ok
}

// parseOffset reads a zone other than Z, in seconds east of Greenwich.
func parseOffset(b []byte) (seconds int64, ok bool) {
	b = bytes.TrimPrefix(b, []byte(" "))
	for _, name := range []string{"UTC", "GMT", "UT", "Z"} {
		if len(b) >= len(name) && string(b[:len(name)]) == name {
			b = b[len(name):]
			if len(b) == 0 {
				return 0, true
			}
			break
		}
	}
	if len(b) < 2 || b[0] != '+' && b[0] != '-' {
		return 0, false
	}
	negative := b[0] == '-'
	hours, rest, ok := digits(b[1:], 2)
	if !ok {
		return 0, false
	}
	var minutes int64
	if len(rest) > 0 {
		rest = bytes.TrimPrefix(rest, []byte(":"))
		if minutes, rest, ok = digits(rest, 2); !ok || len(rest) > 0 || minutes > 59 {
			return 0, false
		}
	}
	seconds = hours*3600 + minutes*60
	if negative {
		seconds = -seconds
	}
	return seconds, seconds >= -maxOffset && seconds <= maxOffset
}

// digits reads one to most digits from the beginning of b.
func digits(b []byte, most int) (v int64, rest []byte, ok bool) {
	i := 0
	for ; i < len(b) && i < most && b[i]-'0' <= 9; i++ {
		v = v*10 + int64(b[i]-'0')
	}
	return v, b[i:], i > 0
}

// twoDigits reads exactly two.
func twoDigits(hi, lo byte) (int64, bool) {
	hi -= '0'
	lo -= '0'
	return int64(hi)*10 + int64(lo), hi <= 9 && lo <= 9
}

// civil is the number of days from 1970-01-01 to a date of the proleptic Gregorian calendar; false if there is no such date in years 1 to 9999.
func civil(year, month, day int64) (int64, bool) {
	if year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0, false
	}
	if month <= 2 { // count years from March, so that the leap day is the last
		year--
		month += 12
	}
	return 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - 719468, true
}

// daysIn is the length of a month.
func daysIn(year, month int64) int64 {
	if month == 2 {
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 30 + (month+month>>3)&1
}
