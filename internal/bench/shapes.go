package main

import (
	"fmt"
	"strconv"
	"strings"
)

// Rows that are unlike the usual ones.

const wideColumns = 200

// wideColumn is the type of a column of wide rows, for us and for DuckDB.
func wideColumn(i int) (ours, theirs string) {
	switch i % 4 {
	case 0:
		return "BIGINT", "BIGINT"
	case 1:
		return "DOUBLE", "DOUBLE"
	case 2:
		return "STRING", "VARCHAR"
	}
	return "BOOLEAN", "BOOLEAN"
}

// wideSchema are the columns of wide rows: our schema, DuckDB's, and their names.
func wideSchema() (ours, theirs, names string) {
	var a, b, c []string
	for i := range wideColumns {
		o, t := wideColumn(i)
		a, b, c = append(a, fmt.Sprintf("c%03d %s", i, o)), append(b, fmt.Sprintf("c%03d: '%s'", i, t)), append(c, fmt.Sprintf("c%03d", i))
	}
	return strings.Join(a, ", "), strings.Join(b, ", "), strings.Join(c, ", ")
}

// wide has 200 columns.
func wide(g *generator, dst []byte) []byte {
	r := g.rng
	dst = append(dst, '{')
	for i := range wideColumns {
		dst = append(separated(dst, i), `"c`...)
		dst = append(dst, byte('0'+i/100), byte('0'+i/10%10), byte('0'+i%10), '"', ':')
		switch i % 4 {
		case 0:
			dst = strconv.AppendInt(dst, r.Int64N(1_000_000), 10)
		case 1:
			dst = strconv.AppendFloat(dst, float64(r.IntN(100_000))/100, 'f', 2, 64)
		case 2:
			dst = append(dst, '"')
			dst = appendHex(dst, r.Uint64())
			dst = append(dst, '"')
		default:
			dst = strconv.AppendBool(dst, r.IntN(2) == 0)
		}
	}
	return append(dst, "}\n"...)
}

const longBytes = 100_000

// long has a string of 100 KB.
func long(g *generator, dst []byte) []byte {
	g.id++
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, g.id, 10)
	dst = append(dst, `,"body":"`...)
	for from := len(dst); len(dst)-from < longBytes; {
		dst = appendHex(dst, g.rng.Uint64())
		dst = append(dst, pick(g.rng, " lorem ipsum dolor", " sit amet, ", " consectetur ", "; adipiscing")...)
	}
	return append(dst, "\"}\n"...)
}

const deepLevels = 12

// deepSchema are the columns of deep rows, for us and for DuckDB.
func deepSchema() (ours, theirs string) {
	ours, theirs = "STRUCT<n: BIGINT, s: STRING>", "STRUCT(n BIGINT, s VARCHAR)"
	for range deepLevels - 1 {
		ours, theirs = "STRUCT<n: BIGINT, s: STRING, next: "+ours+">", "STRUCT(n BIGINT, s VARCHAR, next "+theirs+")"
	}
	return "id BIGINT, top " + ours, "id: 'BIGINT', top: '" + theirs + "'"
}

// deep has structs in structs, twelve deep; some end above.
func deep(g *generator, dst []byte) []byte {
	g.id++
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, g.id, 10)
	dst = append(dst, `,"top":`...)
	levels := deepLevels - g.rng.IntN(3)
	for i := range levels {
		dst = append(dst, `{"n":`...)
		dst = strconv.AppendInt(dst, g.rng.Int64N(100_000), 10)
		dst = append(dst, `,"s":"`...)
		dst = append(dst, pick(g.rng, "north", "east", "south", "west")...)
		dst = append(dst, '"')
		if i < levels-1 {
			dst = append(dst, `,"next":`...)
		}
	}
	for range levels {
		dst = append(dst, '}')
	}
	return append(dst, "}\n"...)
}

const buckets = 1000

// bucketed is an event with a number that a table is partitioned by.
func bucketed(g *generator, dst []byte) []byte {
	dst = g.append(dst)
	dst = append(dst[:len(dst)-2], `,"bucket":`...)
	dst = strconv.AppendInt(dst, int64(g.rng.IntN(buckets)), 10)
	return append(dst, "}\n"...)
}
