//go:build services

package postgres

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pgx/v5"

	"microbatch/batch"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/sinks/sinktest"
)

// everyType has all types of a schema, and the tables that PostgreSQL makes of them.
const everyType = `b BOOLEAN, t TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, m DECIMAL(10,2), n DECIMAL(38,18), x STRING, y BINARY, e DATE,
	ts TIMESTAMP, tn TIMESTAMP_NTZ, al ARRAY<BIGINT>, ax ARRAY<STRING>, am ARRAY<DECIMAL(10,2)>, aa ARRAY<ARRAY<INT>>, st STRUCT<a: INT, b: STRING>, mp MAP<STRING, DOUBLE>`

func TestEveryTypeArrivesAsItIs(t *testing.T) {
	p := newPlace(t, Config{})
	rows := ddl(t, everyType)
	s := p.start(rows)
	rejected := put(t, s, rows, 0, `
{"b":true,"t":-128,"s":-32768,"i":-2147483648,"l":-9223372036854775808,"f":1.5,"d":-0.1,"m":-12345678.90,"n":12345678901234567890.123456789012345678,"x":"ä\"\\\n","y":"AP8=","e":"0001-01-01","ts":"2026-01-31T12:00:00.123456Z","tn":"1969-12-31T23:59:59.999999","al":[1,null,-3],"ax":["a,b","{}",null,""],"am":[0.01,-10.00],"aa":[[1],[]],"st":{"a":1,"b":"\\u0000"},"mp":{"k":0.5}}
{}
{"b":false,"t":127,"s":32767,"i":2147483647,"l":9223372036854775807,"f":"NaN","d":"-Infinity","m":0.00,"n":0.000000000000000001,"x":"","y":"","e":"9999-12-31","ts":"9999-12-31T23:59:59.999999Z","tn":"0001-01-01T00:00:00","al":[],"ax":[],"am":[],"aa":[],"st":{},"mp":{}}
`)
	if len(rejected) > 0 {
		t.Fatalf("rejected: %v", rejected)
	}
	got, err := p.conn.Query(t.Context(), `SELECT concat_ws('|', b, t, s, i, l, f, d, m, n, x, y, e, ts AT TIME ZONE 'UTC', tn, al, ax, am, aa, st, mp) FROM orders ORDER BY t`)
	must(t, err)
	lines, err := pgx.CollectRows(got, pgx.RowTo[string])
	must(t, err)
	want := []string{
		"t|-128|-32768|-2147483648|-9223372036854775808|1.5|-0.1|-12345678.90|12345678901234567890.123456789012345678|ä\"\\\n|\\x00ff|0001-01-01|2026-01-31 12:00:00.123456|" +
			`1969-12-31 23:59:59.999999|{1,NULL,-3}|{"a,b","{}",NULL,""}|{0.01,-10.00}|[[1], []]|{"a": 1, "b": "\\u0000"}|{"k": 0.5}`,
		`f|127|32767|2147483647|9223372036854775807|NaN|-Infinity|0.00|0.000000000000000001||\x|9999-12-31|9999-12-31 23:59:59.999999|0001-01-01 00:00:00|{}|{}|{}|[]|{}|{}`,
		"",
	}
	if text, wanted := strings.Join(lines, "\n"), strings.Join(want, "\n"); text != wanted {
		t.Errorf("have\n%s\nwant\n%s", text, wanted)
	}
	if types := p.text(`SELECT string_agg(format_type(atttypid, atttypmod), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'orders'::regclass AND attnum > 0`); types !=
		"boolean, smallint, smallint, integer, bigint, real, double precision, numeric(10,2), numeric(38,18), text, bytea, date, "+
			"timestamp with time zone, timestamp without time zone, bigint[], text[], numeric(10,2)[], jsonb, jsonb, jsonb" {
		t.Errorf("the table has %s", types)
	}
}

// Values that PostgreSQL has no place for are rejected rows, each with its reason; the rows beside them go on.
func TestWhatPostgresCannotHoldIsRejected(t *testing.T) {
	p := newPlace(t, Config{Mode: Upsert, Keys: []string{"id"}})
	rows := ddl(t, "id BIGINT, x STRING, a ARRAY<STRING>, s STRUCT<v: STRING>")
	s := p.start(rows)
	rejected := put(t, s, rows, 0, `
{"id":1,"x":"a\u0000b"}
{"id":2,"a":["ok","\u0000"]}
{"id":3,"s":{"v":"\\\u0000"}}
{"x":"no key"}
{"id":5,"x":"fine","s":{"v":"\\u0000 as text"}}
`)
	var reasons []string
	for _, r := range rejected {
		reasons = append(reasons, r.Position+": "+r.Reason+": "+string(r.Raw))
	}
	want := `batch 0, part 0, row 0: MB3002 column x: a text of PostgreSQL cannot hold a NUL character: {"id":1,"x":"a\u0000b"}
batch 0, part 0, row 1: MB3002 column a: a text of PostgreSQL cannot hold a NUL character: {"id":2,"a":["ok","\u0000"]}
batch 0, part 0, row 2: MB3002 column s: a text of PostgreSQL cannot hold a NUL character: {"id":3,"s":{"v":"\\\u0000"}}
batch 0, part 0, row 3: MB3003 column id: it is null, and the column is part of the key: {"x":"no key"}`
	if got := strings.Join(reasons, "\n"); got != want {
		t.Errorf("have\n%s\nwant\n%s", got, want)
	}
	if got := p.text("SELECT string_agg(id::text, ',') || ' ' || (SELECT rows FROM microbatch_positions) FROM orders"); got != "5 1" {
		t.Errorf("the table and the position have %s", got)
	}
}

// extremes is a part with the outermost dates, times and texts that an Arrow array can hold.
func extremes(s *arrow.Schema) batch.Part {
	return batch.PartFunc(func(context.Context) batch.Stream {
		return func(yield func(batch.Chunk, error) bool) {
			b := array.NewRecordBuilder(memory.DefaultAllocator, s)
			defer b.Release()
			for i, row := range []struct {
				day  arrow.Date32
				time arrow.Timestamp
				text string
			}{
				{math.MinInt32, 0, ""}, {math.MaxInt32, 0, ""}, {0, math.MinInt64, ""}, {0, 0, "\xff"},
				{firstDate + epochDays, firstTimestamp + epochMicros, "first"}, {afterLastDate + epochDays - 1, math.MaxInt64, "last"},
			} {
				b.Field(0).(*array.Int32Builder).Append(int32(i))
				b.Field(1).(*array.Date32Builder).Append(row.day)
				b.Field(2).(*array.TimestampBuilder).Append(row.time)
				b.Field(3).(*array.StringBuilder).Append(row.text)
			}
			yield(batch.Chunk{Record: b.NewRecordBatch()}, nil)
		}
	})
}

func TestDatesAndTimesBeyondPostgresAreRejected(t *testing.T) {
	p := newPlace(t, Config{})
	rows := ddl(t, "i INT, d DATE, ts TIMESTAMP, x STRING")
	s := p.start(rows)
	entry := sinktest.Entry(0, "a")
	var rejected []string
	b := &batch.Batch{ID: 0, Attempt: ident.NewAttempt(), Digest: ident.DigestOf(entry), Entry: entry, Schema: rows, Parts: []batch.Part{extremes(rows)},
		Reject: func(r batch.Rejected) { rejected = append(rejected, r.Reason) }}
	pending, err := s.Prepare(t.Context(), b)
	must(t, err)
	_, err = s.Commit(t.Context(), pending)
	must(t, err)
	if len(rejected) != 4 {
		t.Errorf("rejected: %q", rejected)
	}
	got := p.text("SELECT string_agg(concat_ws('|', i, d, ts AT TIME ZONE 'UTC', x), ', ' ORDER BY i) FROM orders")
	if want := "4|4714-11-24 BC|4714-11-24 00:00:00 BC|first, 5|5874897-12-31|294247-01-10 04:00:54.775807|last"; got != want {
		t.Errorf("have %s, want %s", got, want)
	}
}

// The binary form of numbers is made digit by digit: it is compared with what the server makes of the same numbers as text.
func TestDecimalsAreWhatTheServerReadsFromTheirText(t *testing.T) {
	p := newPlace(t, Config{})
	p.exec("CREATE TEMP TABLE n (i serial, v numeric)")
	rng := rand.New(rand.NewPCG(1, 2))
	var buf []byte
	var want []string
	buf = append(buf, copyHeader...)
	add := func(v decimal128.Num, scale int) {
		buf = append(buf, 0, 1)
		buf = appendNumeric(buf, v, scale)
		want = append(want, v.ToString(int32(scale)))
	}
	for scale := range 39 {
		for _, n := range []int64{0, 1, -1, 9999, 10000, 100000000, math.MaxInt64, math.MinInt64 + 1} {
			add(decimal128.FromI64(n), scale)
		}
		for range 50 {
			add(decimal128.New(rng.Int64N(5e18), rng.Uint64()), scale) // below 10 to the power of 38
			add(decimal128.New(rng.Int64N(5e18), rng.Uint64()).Negate(), scale)
			add(decimal128.FromI64(rng.Int64()>>rng.IntN(60)), scale)
		}
	}
	buf = append(buf, copyTrailer...)
	_, err := p.conn.PgConn().CopyFrom(t.Context(), strings.NewReader(string(buf)), "COPY n (v) FROM STDIN (FORMAT binary)")
	must(t, err)
	got, err := p.conn.Query(t.Context(), "SELECT v::text FROM n ORDER BY i")
	must(t, err)
	texts, err := pgx.CollectRows(got, pgx.RowTo[string])
	must(t, err)
	differ := p.conn.QueryRow(t.Context(), "SELECT count(*) FROM unnest($1::text[], $2::text[]) AS u(have, want) WHERE have::numeric <> want::numeric OR scale(have::numeric) <> scale(want::numeric)", texts, want)
	var n int
	must(t, differ.Scan(&n))
	if n > 0 || len(texts) != len(want) {
		t.Errorf("%d of %d numbers differ", n, len(want))
	}
}

// A table that exists takes what is at least as wide, and says at the check what does not fit.
func TestRowsFitTheTableOrTheCheckSaysWhy(t *testing.T) {
	for _, c := range []struct {
		rows, table, want string
	}{
		{"a INT, b FLOAT, c DECIMAL(5,1)", "a bigint, b double precision, c numeric(6,2)", ""},
		{"a TINYINT, b BIGINT, c STRING", "a numeric, b numeric(19,0), c varchar(5)", ""},
		{"A INT", "a int", ""},
		{"a STRING, b STRING, c STRING", "a uuid, b jsonb, c json", ""},
		{"a ARRAY<INT>, b MAP<STRING, INT>", "a int[], b json", ""},
		{"a INT", "a int, b int, c int NOT NULL DEFAULT 7, d bigserial, e int GENERATED BY DEFAULT AS IDENTITY", ""},
		{"a BIGINT", "a int", "column a: it is integer in the table, and the rows' bigint does not fit"},
		{"a BIGINT", "a numeric(18,0)", "column a: it is numeric(18,0) in the table, and the rows' bigint does not fit"},
		{"a DECIMAL(5,2)", "a numeric(5,1)", "column a: it is numeric(5,1) in the table, and the rows' numeric(5,2) does not fit"},
		{"a DOUBLE", "a real", "does not fit"},
		{"a TIMESTAMP", "a timestamp", "column a: it is timestamp without time zone in the table, and the rows' timestamptz does not fit"},
		{"a TIMESTAMP", "a timestamptz(3)", "which would round the rows' microseconds"},
		{"a INT, b INT", "a int", "column b: the table has no such column"},
		{"a INT", "a int, b int NOT NULL", "column b of the table is NOT NULL and has no default"},
		{"a INT", "a int GENERATED ALWAYS AS IDENTITY", "column a: it is generated in the table"},
		{"a INT", `"A" int, "a " int, "Á" int`, ""},
		{"a INT, b INT", `a int, "b'; DROP TABLE orders; --" int`, "column b: the table has no such column"},
		{"a ARRAY<INT>", "a bigint[]", "does not fit"},
	} {
		t.Run(c.rows+" into "+c.table, func(t *testing.T) {
			p := newPlace(t, Config{})
			p.exec("CREATE TABLE orders (" + c.table + ")")
			s := p.open(t)
			defer s.Close()
			err := s.Check(t.Context(), ddl(t, c.rows))
			if c.want == "" && err != nil || c.want != "" && (!errcode.Has(err, errcode.PostgresTable) || !strings.Contains(fmt.Sprint(err), c.want)) {
				t.Errorf("check: %v, want %q", err, c.want)
			}
		})
	}
}

// Texts become what the column is: a value that it cannot be made of stops the query, and nothing of the batch is there.
func TestTextsBecomeUUIDsAndJSON(t *testing.T) {
	p := newPlace(t, Config{})
	p.exec("CREATE TABLE orders (a uuid, b jsonb, c varchar(3))")
	rows := ddl(t, "a STRING, b STRING, c STRING")
	s := p.start(rows)
	put(t, s, rows, 0, `{"a":"A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11","b":"{\"k\": [1]}","c":"abc"}`)
	if got := p.text("SELECT concat_ws(' ', a, b, c) FROM orders"); got != `a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11 {"k": [1]} abc` {
		t.Errorf("have %s", got)
	}
	for _, bad := range []string{`{"a":"no uuid"}`, `{"b":"{"}`, `{"c":"abcd"}`} {
		_, pending, err := stage(t, s, rows, 1, nil, bad)
		must(t, err)
		if _, err := s.Commit(t.Context(), pending); !errcode.Has(err, errcode.PostgresRefused) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	put(t, s, rows, 1, `{"c":"xyz"}`)
	if got := p.text("SELECT count(*)::text || (SELECT batch FROM microbatch_positions) FROM orders"); got != "21" {
		t.Errorf("rows and batch: %s", got)
	}
}
