package main

import (
	"math/rand/v2"
	"strconv"
)

// Rows of the events in other dress. Each appends the next row of a generator as one line.

// shuffled has its keys in another order in every row.
func shuffled(g *generator, dst []byte) []byte {
	fields := g.next()
	order := [8]int{0, 1, 2, 3, 4, 5, 6, 7}
	g.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	dst = append(dst, '{')
	for _, i := range order {
		dst = append(g.member(dst, i, fields[i]), ',')
	}
	dst[len(dst)-1] = '}'
	return append(dst, '\n')
}

// escaped has an escape in each of its strings but the time: a slash, a quote, a line end, a letter by its number.
func escaped(g *generator, dst []byte) []byte {
	escapes := [...]string{`\/`, `\"`, `\n`, `\u00e9`}
	dst = append(dst, '{')
	for i, value := range g.next() {
		dst = append(g.member(dst, i, value), ',')
		if i < 3 || !text(i) {
			continue
		}
		dst = append(dst[:len(dst)-2], escapes[g.rng.IntN(len(escapes))]...)
		dst = append(dst, `",`...)
	}
	dst[len(dst)-1] = '}'
	return append(dst, '\n')
}

// nullable has no value in a third of its fields: half of those are null, the others are not there.
func nullable(g *generator, dst []byte) []byte {
	dst = append(dst, '{')
	for i, value := range g.next() {
		switch draw := g.rng.IntN(6); {
		case i == 0 || draw > 1:
			dst = append(g.member(dst, i, value), ',')
		case draw == 1:
			dst = append(dst, '"')
			dst = append(dst, g.names[i]...)
			dst = append(dst, `":null,`...)
		}
	}
	dst[len(dst)-1] = '}'
	return append(dst, '\n')
}

// commaSeparated is a line of CSV.
func commaSeparated(g *generator, dst []byte) []byte {
	for _, value := range g.next() {
		dst = append(append(dst, value...), ',')
	}
	dst[len(dst)-1] = '\n'
	return dst
}

// The columns of nested rows.
const (
	nestedDDL = "id BIGINT, ts TIMESTAMP, buyer STRUCT<id: BIGINT, country: STRING, address: STRUCT<city: STRING, zip: STRING>>, " +
		"items ARRAY<STRUCT<sku: STRING, quantity: INT, price: DOUBLE>>, tags ARRAY<STRING>, session STRING"
	nestedDuckDB = "id: 'BIGINT', ts: 'TIMESTAMP', buyer: 'STRUCT(id BIGINT, country VARCHAR, address STRUCT(city VARCHAR, zip VARCHAR))', " +
		"items: 'STRUCT(sku VARCHAR, quantity INTEGER, price DOUBLE)[]', tags: 'VARCHAR[]', session: 'VARCHAR'"
	nestedHash = "id, epoch_us(ts), buyer, items, tags, session"
)

// nested has structs in structs, and arrays of up to three structs and strings, some of them null.
func nested(g *generator, dst []byte) []byte {
	f, r := g.next(), g.rng
	dst = append(g.member(append(dst, '{'), 0, f[0]), ',')
	dst = append(g.member(dst, 1, f[1]), `,"buyer":{"id":`...)
	dst = append(append(dst, f[2]...), ',')
	dst = append(g.member(dst, 4, f[4]), `,"address":`...)
	if r.IntN(10) == 0 {
		dst = append(dst, `null},"items":[`...)
	} else {
		dst = append(dst, `{"city":"`...)
		dst = append(dst, pick(r, "Berlin", "Paris", "Boston", "London", "Rome", "Madrid")...)
		dst = append(dst, `","zip":"`...)
		dst = strconv.AppendInt(dst, int64(10_000+r.IntN(90_000)), 10)
		dst = append(dst, `"}},"items":[`...)
	}
	for i := range r.IntN(4) {
		dst = item(r, separated(dst, i))
	}
	dst = append(dst, `],"tags":[`...)
	for i := range r.IntN(4) {
		dst = append(separated(dst, i), '"')
		dst = append(dst, pick(r, "new", "gift", "sale", "express", "bulk")...)
		dst = append(dst, '"')
	}
	dst = append(dst, `],`...)
	return append(g.member(dst, 7, f[7]), "}\n"...)
}

func item(r *rand.Rand, dst []byte) []byte {
	dst = append(dst, `{"sku":"A-`...)
	dst = strconv.AppendInt(dst, int64(r.IntN(50_000)), 10)
	dst = append(dst, `","quantity":`...)
	dst = strconv.AppendInt(dst, int64(1+r.IntN(9)), 10)
	dst = append(dst, `,"price":`...)
	dst = strconv.AppendFloat(dst, float64(r.IntN(10_000))/100, 'f', 2, 64)
	return append(dst, '}')
}

func separated(dst []byte, i int) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	return dst
}
