package column

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// AppendInstant appends microseconds since 1970 as "2006-01-02T15:04:05[.999999]", without zone, as time.Time.AppendFormat does, in a seventh of its time (25 ns
// instead of 180).
func AppendInstant(dst []byte, micros int64) []byte {
	seconds, fraction := micros/microsPerSecond, micros%microsPerSecond
	if fraction < 0 {
		seconds, fraction = seconds-1, fraction+microsPerSecond
	}
	if seconds < minSecond || seconds > maxSecond {
		return time.UnixMicro(micros).UTC().AppendFormat(dst, "2006-01-02T15:04:05.999999")
	}
	days := (seconds-minSecond)/secondsPerDay + minSecond/secondsPerDay
	second := uint32(seconds - days*secondsPerDay)
	dst = appendDay(dst, days)
	hour, minute := second/3600, second/60%60
	dst = append(dst, 'T', tens[hour], ones[hour], ':', tens[minute], ones[minute], ':', tens[second%60], ones[second%60])
	if fraction == 0 {
		return dst
	}
	f := uint32(fraction)
	hi, mid, lo := f/10000, f/100%100, f%100
	dst = append(dst, '.', tens[hi], ones[hi], tens[mid], ones[mid], tens[lo], ones[lo])
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// AppendDate appends days since 1970 as "2006-01-02".
func AppendDate(dst []byte, days int32) []byte {
	if days < minSecond/secondsPerDay || days > maxSecond/secondsPerDay {
		return arrow.Date32(days).ToTime().AppendFormat(dst, "2006-01-02")
	}
	return appendDay(dst, int64(days))
}

// appendDay appends days since 1970, of years 1 to 9999, as "2006-01-02". The calendar counts years from March, as civil does; an era is 400 of them.
func appendDay(dst []byte, days int64) []byte {
	day := uint32(days + 719468) // since 0000-03-01
	era := day / 146097
	day -= era * 146097
	year := (day - day/1460 + day/36524 - day/146096) / 365
	day -= 365*year + year/4 - year/100
	month := (5*day + 2) / 153
	day -= (153*month+2)/5 - 1
	year += era * 400
	if month += 3; month > 12 {
		month, year = month-12, year+1
	}
	return append(dst, tens[year/100], ones[year/100], tens[year%100], ones[year%100], '-', tens[month], ones[month], '-', tens[day], ones[day])
}

// The digits of the numbers below 100.
const (
	tens = "0000000000111111111122222222223333333333444444444455555555556666666666777777777788888888889999999999"
	ones = "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
)
