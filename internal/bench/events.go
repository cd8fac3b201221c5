package main

import (
	"math/rand/v2"
	"strconv"
	"time"
)

// The columns of the figures: about 200 bytes of JSON a row.
const (
	eventsDDL    = "id BIGINT, ts TIMESTAMP, user_id BIGINT, event STRING, country STRING, amount DOUBLE, url STRING, session STRING"
	eventsDuckDB = "id: 'BIGINT', ts: 'TIMESTAMP', user_id: 'BIGINT', event: 'VARCHAR', country: 'VARCHAR', amount: 'DOUBLE', url: 'VARCHAR', session: 'VARCHAR'"
	eventsHash   = "id, epoch_us(ts), user_id, event, country, amount, url, session"
)

// generator makes rows: a pure function of the seed and the number of rows so far.
type generator struct {
	rng    *rand.Rand
	id     int64
	fields [][]byte // of the row: name and JSON value, one behind the other
	names  []string
	buf    []byte
}

func newGenerator(seed uint64) *generator {
	return &generator{
		rng: rand.New(rand.NewPCG(seed, 1)), fields: make([][]byte, 8),
		names: []string{"id", "ts", "user_id", "event", "country", "amount", "url", "session"},
	}
}

// next makes the next row: the text of its fields, strings without quotes.
func (g *generator) next() [][]byte {
	g.id++
	r, b, from := g.rng, g.buf[:0], 0
	field := func(i int) {
		g.fields[i] = b[from:]
		from = len(b)
	}
	b = strconv.AppendInt(b, g.id, 10)
	field(0)
	b = time.UnixMicro(1_760_000_000_000_000+g.id*1500+r.Int64N(1500)).UTC().AppendFormat(b, "2006-01-02T15:04:05.000000Z")
	field(1)
	b = strconv.AppendInt(b, r.Int64N(1_000_000), 10)
	field(2)
	b = append(b, pick(r, "view", "click", "cart", "purchase", "refund", "signup", "login", "logout")...)
	field(3)
	b = append(b, pick(r, "DE", "FR", "US", "GB", "IT", "ES", "PL", "SE", "NL", "JP", "IN", "BR", "CA", "MX", "AU", "CN", "KR", "CH", "AT", "DK")...)
	field(4)
	b = strconv.AppendFloat(b, float64(r.IntN(100_000))/100, 'f', 2, 64)
	field(5)
	b = append(b, "https://shop.example.com/products/"...)
	b = strconv.AppendInt(b, int64(r.IntN(100_000)), 10)
	b = append(b, "?ref="...)
	b = strconv.AppendInt(b, int64(r.IntN(1000)), 10)
	field(6)
	b = appendHex(b, r.Uint64())
	field(7)
	g.buf = b
	return g.fields
}

// text reports whether a column is a string in JSON.
func text(column int) bool { return column != 0 && column != 2 && column != 5 }

// append appends the next row as one line of JSON.
func (g *generator) append(dst []byte) []byte {
	dst = append(dst, '{')
	for i, value := range g.next() {
		dst = append(g.member(dst, i, value), ',')
	}
	dst[len(dst)-1] = '}'
	return append(dst, '\n')
}

// member appends a field as "name":value.
func (g *generator) member(dst []byte, column int, value []byte) []byte {
	dst = append(dst, '"')
	dst = append(dst, g.names[column]...)
	dst = append(dst, `":`...)
	if !text(column) {
		return append(dst, value...)
	}
	dst = append(dst, '"')
	dst = append(dst, value...)
	return append(dst, '"')
}

func pick(r *rand.Rand, words ...string) string { return words[r.IntN(len(words))] }

func appendHex(dst []byte, v uint64) []byte {
	const digits = "0123456789abcdef"
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, digits[v>>shift&15])
	}
	return dst
}
