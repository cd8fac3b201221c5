// Package events makes the rows that tests and benchmarks run on: web events as JSON of about 200 bytes in 8 columns, a pure function of their number.
package events

import (
	"strconv"
	"time"
)

// DDL is the schema of the events.
const DDL = "id BIGINT, ts TIMESTAMP, user_id BIGINT, event STRING, country STRING, amount DOUBLE, url STRING, session STRING"

var (
	kinds     = [...]string{"view", "click", "add_to_cart", "purchase", "search", "login"}
	countries = [...]string{"DE", "FR", "US", "GB", "JP", "BR", "IN", "ZA", "PL", "SE"}
	start     = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Append appends event n as one JSON object without a line end.
func Append(dst []byte, n int64) []byte {
	h := mix(uint64(n))
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, n, 10)
	dst = append(dst, `,"ts":"`...)
	dst = start.Add(time.Duration(n)*37*time.Millisecond).AppendFormat(dst, "2006-01-02T15:04:05.000Z")
	dst = append(dst, `","user_id":`...)
	dst = strconv.AppendInt(dst, 100_000+int64(h%900_000), 10)
	dst = append(dst, `,"event":"`...)
	dst = append(dst, kinds[h>>20%uint64(len(kinds))]...)
	dst = append(dst, `","country":"`...)
	dst = append(dst, countries[h>>24%uint64(len(countries))]...)
	dst = append(dst, `","amount":`...)
	dst = strconv.AppendFloat(dst, float64(h>>30%100_000)/100, 'f', 2, 64)
	dst = append(dst, `,"url":"https://shop.example.com/p/`...)
	dst = strconv.AppendUint(dst, h>>40%100_000, 10)
	dst = append(dst, `?ref=`...)
	dst = strconv.AppendUint(dst, mix(h)%1_000_000, 36)
	dst = append(dst, `","session":"`...)
	dst = appendHex(dst, mix(h+1))
	dst = appendHex(dst, mix(h+2))
	return append(dst, `"}`...)
}

// Malformed appends event n cut off in the middle.
func Malformed(dst []byte, n int64) []byte {
	from := len(dst)
	dst = Append(dst, n)
	return dst[:from+(len(dst)-from)/2]
}

// Misfit appends event n with an amount that is no number.
func Misfit(dst []byte, n int64) []byte {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, n, 10)
	return append(dst, `,"amount":"a lot","event":"purchase"}`...)
}

// Bad says what is wrong with event n in a stream in which one in a thousand is malformed and one in a thousand does not fit.
func Bad(n int64) (malformed, misfit bool) {
	return n%1000 == 17, n%1000 == 613
}

// AppendMixed appends event n, broken as Bad says.
func AppendMixed(dst []byte, n int64) []byte {
	switch malformed, misfit := Bad(n); {
	case malformed:
		return Malformed(dst, n)
	case misfit:
		return Misfit(dst, n)
	}
	return Append(dst, n)
}

func appendHex(dst []byte, h uint64) []byte {
	const digits = "0123456789abcdef"
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, digits[h>>shift&15])
	}
	return dst
}

// mix is the finaliser of splitmix64: a well spread hash of one number.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
