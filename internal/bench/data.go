package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"
)

// The columns of the figures: about 200 bytes of JSON a row.
const (
	eventsDDL    = "id BIGINT, ts TIMESTAMP, user_id BIGINT, event STRING, country STRING, amount DOUBLE, url STRING, session STRING"
	eventsDuckDB = "id: 'BIGINT', ts: 'TIMESTAMP', user_id: 'BIGINT', event: 'VARCHAR', country: 'VARCHAR', amount: 'DOUBLE', url: 'VARCHAR', session: 'VARCHAR'"
)

// generator makes JSON rows: a pure function of the seed and the number of rows so far.
type generator struct {
	rng *rand.Rand
	id  int64
}

func newGenerator(seed uint64) *generator { return &generator{rng: rand.New(rand.NewPCG(seed, 1))} }

// append appends the next row as one line.
func (g *generator) append(dst []byte) []byte {
	g.id++
	r := g.rng
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, g.id, 10)
	dst = append(dst, `,"ts":"`...)
	at := time.UnixMicro(1_760_000_000_000_000 + g.id*1500 + r.Int64N(1500)).UTC()
	dst = at.AppendFormat(dst, "2006-01-02T15:04:05.000000Z")
	dst = append(dst, `","user_id":`...)
	dst = strconv.AppendInt(dst, r.Int64N(1_000_000), 10)
	dst = append(dst, `,"event":"`...)
	dst = append(dst, pick(r, "view", "click", "cart", "purchase", "refund", "signup", "login", "logout")...)
	dst = append(dst, `","country":"`...)
	dst = append(dst, pick(r, "DE", "FR", "US", "GB", "IT", "ES", "PL", "SE", "NL", "JP", "IN", "BR", "CA", "MX", "AU", "CN", "KR", "CH", "AT", "DK")...)
	dst = append(dst, `","amount":`...)
	dst = strconv.AppendFloat(dst, float64(r.IntN(100_000))/100, 'f', 2, 64)
	dst = append(dst, `,"url":"https://shop.example.com/products/`...)
	dst = strconv.AppendInt(dst, int64(r.IntN(100_000)), 10)
	dst = append(dst, `?ref=`...)
	dst = strconv.AppendInt(dst, int64(r.IntN(1000)), 10)
	dst = append(dst, `","session":"`...)
	dst = appendHex(dst, r.Uint64())
	return append(dst, "\"}\n"...)
}

func pick(r *rand.Rand, words ...string) string { return words[r.IntN(len(words))] }

func appendHex(dst []byte, v uint64) []byte {
	const digits = "0123456789abcdef"
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, digits[v>>shift&15])
	}
	return dst
}

// writeEvents writes rows as NDJSON, unless the file is there already, and returns its size.
func writeEvents(path string, rows int) (int64, error) {
	if info, err := os.Stat(path); err == nil {
		return info.Size(), nil
	}
	f, err := os.Create(path + ".tmp")
	if err != nil {
		return 0, fmt.Errorf("bench: %w", err)
	}
	defer f.Close()
	out := bufio.NewWriterSize(f, 1<<20)
	g := newGenerator(1)
	var line []byte
	for range rows {
		line = g.append(line[:0])
		if _, err := out.Write(line); err != nil {
			return 0, fmt.Errorf("bench: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return 0, fmt.Errorf("bench: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return 0, fmt.Errorf("bench: %w", err)
	}
	return info.Size(), os.Rename(path+".tmp", path)
}
