package avro

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"microbatch/codec/registry"
	"microbatch/internal/errcode"
	"microbatch/schema"
)

// TestMessagesOfFastavro decodes messages that another implementation wrote, and writes them again, byte for byte.
func TestMessagesOfFastavro(t *testing.T) {
	text, err := os.ReadFile("testdata/messages.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Schema   json.RawMessage
		Messages []struct {
			Hex string
			Row any
		}
	}
	numbers := json.NewDecoder(bytes.NewReader(text))
	numbers.UseNumber()
	if err := numbers.Decode(&golden); err != nil {
		t.Fatal(err)
	}
	s := parse(t, string(golden.Schema))
	columns, err := s.Columns()
	if err != nil {
		t.Fatal(err)
	}
	d := decoderOf(t, plain(t, s), columns)
	for i, m := range golden.Messages {
		msg, err := hex.DecodeString(m.Hex)
		if err != nil {
			t.Fatal(err)
		}
		var got any
		row := decoded(t, d, msg)
		numbers := json.NewDecoder(strings.NewReader(row))
		numbers.UseNumber()
		if err := numbers.Decode(&got); err != nil {
			t.Fatalf("message %d: %s", i, row)
		}
		if diff := cmp.Diff(plainNumbers(m.Row), plainNumbers(flat(got))); diff != "" {
			t.Errorf("message %d (-fastavro +row):\n%s", i, diff)
		}
	}

	rest := columnsOf(t, strings.ReplaceAll(schema.FormatDDL(columns), "either STRUCT<member0: BIGINT, member1: STRING>", "either BIGINT"))
	back := decoderOf(t, plain(t, s), rest)
	for i, m := range golden.Messages {
		msg, _ := hex.DecodeString(m.Hex)
		if err := back.Decode(msg); err != nil {
			if i == 2 && strings.Contains(err.Error(), "the message has a string, which is not a BIGINT") {
				continue // the only one that has a string there
			}
			t.Fatal(err)
		}
		record := back.Flush()
		e, err := NewEncoder(s, rest)
		if err != nil {
			t.Fatal(err)
		}
		again, err := e.AppendRow(nil, record, 0)
		record.Release()
		if err != nil || !cmp.Equal(hex.EncodeToString(again), m.Hex) {
			t.Errorf("message %d: fastavro has %s, we %x, %v", i, m.Hex, again, err)
		}
	}
}

// plainNumbers makes numbers comparable, whole ones without loss, and what Arrow shows of maps and lists alike.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		if f == float64(int64(f)) {
			return int64(f)
		}
		return f
	case map[string]any:
		if len(v) == 0 {
			return []any{}
		}
		for k, x := range v {
			v[k] = plainNumbers(x)
		}
	case []any:
		for i, x := range v {
			v[i] = plainNumbers(x)
		}
	}
	return v
}

// TestWhatGoesIntoWhichColumn: a value of each type and the columns that take it, widen it or refuse it.
func TestWhatGoesIntoWhichColumn(t *testing.T) {
	long := func(v int64) []byte { return appendLong(nil, v) }
	for _, test := range []struct {
		avro, ddl string
		msg       []byte
		want      string // the value, or the reason why it is refused, or "MB3202" for columns that cannot be
	}{
		{`"int"`, "BIGINT", long(-5), `-5`},
		{`"int"`, "TINYINT", long(-128), `-128`},
		{`"int"`, "TINYINT", long(128), `MB3002 column c: 128 is not a TINYINT`},
		{`"int"`, "DOUBLE", long(7), `7`},
		{`"int"`, "INT", long(1 << 31), `MB3001 malformed Avro: a whole number is broken off or too large, at byte 0 of the message`},
		{`"int"`, "BIGINT", long(1 << 31), `MB3001 malformed Avro: a whole number is broken off or too large, at byte 0 of the message`},
		{`"long"`, "INT", long(1 << 31), `MB3002 column c: 2147483648 is not an INT`},
		{`"long"`, "INT", long(-1 << 31), `-2147483648`},
		{`"long"`, "FLOAT", long(3), `3`},
		{`"long"`, "STRING", nil, `MB3202`},
		{`"long"`, "DECIMAL(10,2)", nil, `MB3202`},
		{`"long"`, "TIMESTAMP", nil, `MB3202`},
		{`"float"`, "DOUBLE", []byte{0, 0, 192, 63}, `1.5`},
		{`"double"`, "FLOAT", nil, `MB3202`},
		{`"boolean"`, "BOOLEAN", []byte{2}, `MB3001 malformed Avro: a boolean is neither 0 nor 1, at byte 0 of the message`},
		{`"string"`, "BINARY", []byte{2, 'a'}, `"YQ=="`},
		{`"bytes"`, "STRING", []byte{2, 'a'}, `"a"`},
		{`"bytes"`, "STRING", []byte{2, 0xff}, `MB3001 malformed Avro: a string is not UTF-8, at byte 0 of the message`},
		{`{"type":"enum","name":"E","symbols":["A","B"]}`, "STRING", []byte{2}, `"B"`},
		{`{"type":"enum","name":"E","symbols":["A","B"]}`, "STRING", []byte{4}, `MB3001 malformed Avro: an enum has no such symbol, at byte 0 of the message`},
		{`{"type":"fixed","name":"F","size":2}`, "BINARY", []byte{1, 2}, `"AQI="`},
		{`{"type":"fixed","name":"F","size":16,"logicalType":"uuid"}`, "STRING", []byte("0123456789abcdef"), `"30313233-3435-3637-3839-616263646566"`},
		{`{"type":"string","logicalType":"uuid"}`, "STRING", []byte{2, 'u'}, `"u"`},
		{`{"type":"int","logicalType":"date"}`, "DATE", long(1), `"1970-01-02"`},
		{`{"type":"int","logicalType":"date"}`, "DATE", long(1 << 30), `MB3002 column c: 1073741824 is not a DATE`},
		{`{"type":"int","logicalType":"date"}`, "INT", nil, `MB3202`},
		{`{"type":"long","logicalType":"timestamp-millis"}`, "TIMESTAMP", long(-1), `"1969-12-31T23:59:59.999Z"`},
		{`{"type":"long","logicalType":"timestamp-nanos"}`, "TIMESTAMP", long(-1), `"1969-12-31T23:59:59.999999Z"`},
		{`{"type":"long","logicalType":"timestamp-micros"}`, "TIMESTAMP", long(1 << 62), `MB3002 column c: 4611686018427387904 is not a TIMESTAMP`},
		{`{"type":"long","logicalType":"timestamp-millis"}`, "TIMESTAMP", long(-1 << 62), `MB3002 column c: -4611686018427387904 is not a TIMESTAMP`},
		{`{"type":"long","logicalType":"timestamp-micros"}`, "TIMESTAMP_NTZ", nil, `MB3202`},
		{`{"type":"long","logicalType":"local-timestamp-millis"}`, "TIMESTAMP_NTZ", long(0), `"1970-01-01T00:00:00"`},
		{`{"type":"long","logicalType":"local-timestamp-nanos"}`, "TIMESTAMP_NTZ", long(1999), `"1970-01-01T00:00:00.000001"`},
		{`{"type":"int","logicalType":"time-millis"}`, "INT", long(9), `9`},
		{`{"type":"int","logicalType":"a-type-of-tomorrow"}`, "INT", long(9), `9`},
		{`{"type":"bytes","logicalType":"decimal","precision":4,"scale":1}`, "DECIMAL(10,3)", []byte{2, 0xff}, `"-0.1"`},
		{`{"type":"bytes","logicalType":"decimal","precision":4,"scale":1}`, "DECIMAL(3,1)", []byte{4, 3, 0xe8}, `MB3002 column c: a number of more digits is not a DECIMAL(3,1)`},
		{`{"type":"bytes","logicalType":"decimal","precision":4,"scale":1}`, "DECIMAL(38,38)", []byte{4, 3, 0xe8}, `MB3002 column c: a number of more digits is not a DECIMAL(38,38)`},
		{`{"type":"bytes","logicalType":"decimal","precision":4,"scale":1}`, "DECIMAL(4,0)", nil, `MB3202`},
		{`{"type":"bytes","logicalType":"decimal","precision":4,"scale":1}`, "DECIMAL(4,1)", append([]byte{40}, append(bytes.Repeat([]byte{0xff}, 19), 0xf6)...), `"-1"`},
		{`{"type":"bytes","logicalType":"decimal","precision":4,"scale":1}`, "DECIMAL(4,1)", append([]byte{40, 1}, make([]byte, 19)...), `MB3002 column c: a number of more than 38 digits is not a DECIMAL(4,1)`},
		{`{"type":"bytes","logicalType":"decimal","precision":4,"scale":1}`, "DECIMAL(4,1)", []byte{0}, `MB3001 malformed Avro: a decimal has no bytes, at byte 1 of the message`},
		{`{"type":"bytes","logicalType":"decimal","precision":4,"scale":1}`, "STRING", nil, `MB3202`},
		{`{"type":"bytes","logicalType":"decimal","precision":4,"scale":1}`, "BINARY", []byte{2, 9}, `"CQ=="`},
		{`"null"`, "BIGINT", nil, `null`},
		{`"null"`, "BIGINT NOT NULL", nil, `MB3202`},
		{`["null","long"]`, "BIGINT NOT NULL", []byte{0}, `MB3003 column c: the column is NOT NULL, and it is null`},
		{`["null","long"]`, "BIGINT", []byte{0x82, 0, 2}, `1`},
		{`["null","long"]`, "BIGINT", []byte{4, 2}, `MB3001 malformed Avro: a union has no such branch, at byte 0 of the message`},
		{`["null","long","string"]`, "BIGINT", []byte{2, 2}, `1`},
		{`["null","long","string"]`, "BIGINT", []byte{4, 2, 'a'}, `MB3002 column c: the message has a string, which is not a BIGINT`},
		{`["null","long","string"]`, "STRUCT<member0: BIGINT, member1: STRING>", []byte{4, 2, 'a'}, `{"member0":null,"member1":"a"}`},
		{`["null","long","string"]`, "STRUCT<member0: BIGINT>", []byte{4, 2, 'a'}, `MB3002 column c: the message has a string, which is not a STRUCT`},
		{`{"type":"array","items":"int"}`, "ARRAY<BIGINT>", []byte{3, 4, 2, 4, 2, 6, 0}, `[1,2,3]`},
		{`{"type":"array","items":"int"}`, "ARRAY<BIGINT>", []byte{0xfe, 0xff, 0xff, 0xff, 0x0f, 2}, `MB3001 malformed Avro: there are more elements than the message can hold, at byte 0 of the message`},
		{`{"type":"array","items":"null"}`, "ARRAY<INT>", []byte{4, 0}, `[null,null]`},
		{`{"type":"array","items":"null"}`, "ARRAY<INT>", append(long(5000), 0), `MB3001 malformed Avro: there are more elements than the message can hold, at byte 0 of the message`},
		{`{"type":"array","items":"int"}`, "INT", nil, `MB3202`},
		{`{"type":"map","values":"int"}`, "MAP<STRING, INT>", []byte{4, 2, 'a', 2, 2, 'a', 4, 0}, `MB3001 malformed Avro: a map has a key twice, at byte 8 of the message`},
		{`{"type":"map","values":"int"}`, "MAP<INT, INT>", nil, `MB3202`},
		{`{"type":"record","name":"In","fields":[{"name":"x","type":"int"},{"name":"y","type":"string"}]}`, "STRUCT<y: STRING, z: INT>", []byte{2, 2, 'a'}, `{"y":"a","z":null}`},
		{`{"type":"record","name":"In","fields":[{"name":"x","type":"int"}]}`, "STRUCT<x: INT, z: INT NOT NULL>", nil, `MB3202`},
	} {
		t.Run(test.avro+" to "+test.ddl, func(t *testing.T) {
			f := plain(t, parse(t, `{"type":"record","name":"R","fields":[{"name":"c","type":`+test.avro+`}]}`))
			columns := columnsOf(t, "c "+test.ddl)
			if _, err := f.Output(columns); err != nil {
				if test.want != "MB3202" || !errcode.Has(err, errcode.AvroColumns) {
					t.Error(err)
				}
				return
			}
			if test.msg == nil {
				test.msg = []byte{}
			}
			want := test.want
			if !strings.HasPrefix(want, "MB") {
				want = `{"c":` + want + `}`
			}
			if got := decoded(t, decoderOf(t, f, columns), test.msg); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// TestFieldsWithoutAColumnArePassedOver: of a record with everything in it, records that hold themselves too, two columns are read.
func TestFieldsWithoutAColumnArePassedOver(t *testing.T) {
	s := parse(t, `{"type":"record","name":"R","fields":[
		{"name":"self","type":["null",{"type":"record","name":"Node","fields":[{"name":"v","type":"double"},{"name":"next","type":["null","Node"]}]}]},
		{"name":"a","type":{"type":"array","items":"long"}}, {"name":"m","type":{"type":"map","values":"boolean"}}, {"name":"f","type":"float"}, {"name":"n","type":"null"},
		{"name":"want","type":"string"}, {"name":"fx","type":{"type":"fixed","name":"F","size":3}}, {"name":"e","type":{"type":"enum","name":"E","symbols":["A"]}}, {"name":"last","type":"bytes"}]}`)
	if _, err := s.Columns(); !errcode.Has(err, errcode.AvroColumns) {
		t.Errorf("columns of a record that holds itself: %v", err)
	}
	node := make([]byte, 8)
	tail := append(append([]byte{3, 2, 8, 0, 2, 2, 'k', 1, 0, 0, 0, 0, 0, 2, 'w'}, 1, 2, 3), 0, 0)
	msg := append(append(append([]byte{2}, node...), 2), node...) // two nodes
	msg = append(append(msg, 0), tail...)
	d := decoderOf(t, plain(t, s), columnsOf(t, "want STRING, gone INT"))
	if got := decoded(t, d, msg); got != `{"gone":null,"want":"w"}` {
		t.Errorf("got %s", got)
	}
	deep := bytes.Repeat(append([]byte{2}, node...), 2000)
	if got := decoded(t, d, append(append(deep, 0), tail...)); !strings.HasPrefix(got, "MB3004") {
		t.Errorf("2,000 records in each other: %s", got)
	}
	for cut := range msg {
		if got := decoded(t, d, msg[:cut]); !strings.HasPrefix(got, "MB3001") {
			t.Errorf("cut to %d bytes: %s", cut, got)
		}
	}
}

// wired is a format whose schemas a fake registry keeps.
func wired(t testing.TB) (*Format, *srfake.Registry) {
	t.Helper()
	r := srfake.New()
	t.Cleanup(r.Close)
	f, err := New(Options{Registry: client(t, r.URL())})
	if err != nil {
		t.Fatal(err)
	}
	return f, r
}

func client(t testing.TB, url string) *registry.Client {
	t.Helper()
	c, err := registry.New(registry.Config{URL: url, RetryFor: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// framed is a body behind the id of its schema.
func framed(id int, body ...byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(id)), body...)
}

// TestEachMessageIsReadByItsWritersSchema: fields come and go and change places from schema to schema, and each is asked for once.
func TestEachMessageIsReadByItsWritersSchema(t *testing.T) {
	f, r := wired(t)
	requests := map[string]int{}
	var mu sync.Mutex
	r.Intercept(func(_ http.ResponseWriter, q *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		requests[q.URL.Path]++
		return false
	})
	r.SeedSchema("t-value", 1, 7, sr.Schema{Schema: `{"type":"record","name":"R","fields":[{"name":"id","type":"int"}]}`})
	r.SeedSchema("t-value", 2, 9, sr.Schema{Schema: `{"type":"record","name":"R","fields":[{"name":"name","type":"string"},{"name":"id","type":"long"},{"name":"more","type":"double"}]}`})
	r.SeedSchema("u-value", 1, 8, sr.Schema{Schema: `{"type":"record","name":"R","fields":[{"name":"id","type":"string"}]}`})
	inferred, err := f.Infer([][]byte{framed(7, 2), framed(9), []byte("{}"), nil, framed(7, 2)})
	if err != nil || schema.FormatDDL(inferred) != "name STRING, id BIGINT, more DOUBLE" {
		t.Errorf("inferred %v, %v", inferred, err)
	}
	if _, err := f.Infer([][]byte{[]byte("{}")}); !errcode.Has(err, errcode.RowInfer) {
		t.Errorf("inferred of JSON: %v", err)
	}
	columns := columnsOf(t, "id BIGINT, name STRING")
	d := decoderOf(t, f, columns)
	for range 2 {
		for _, test := range []struct {
			msg  []byte
			want string
		}{
			{framed(7, 2), `{"id":1,"name":null}`},
			{framed(9, append([]byte{2, 'a', 4}, make([]byte, 8)...)...), `{"id":2,"name":"a"}`},
			{framed(8, 2, 'a'), `MB3002 column id: the message has a string, which is not a BIGINT`},
			{framed(7, 2, 0), `MB3001 malformed Avro: more bytes behind the record, at byte 6 of the message`},
			{[]byte(`{"id":1}`), `MB3001 malformed Avro: the message does not begin with the id of a schema (a 0 byte and four more)`},
			{[]byte{0, 0, 0, 0}, `MB3001 malformed Avro: the message does not begin with the id of a schema (a 0 byte and four more)`},
			{nil, `{"id":null,"name":null}`},
		} {
			if got := decoded(t, d, test.msg); got != test.want {
				t.Errorf("%q:\ngot  %s\nwant %s", test.msg, got, test.want)
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(map[string]int{"/schemas/ids/7": 1, "/schemas/ids/8": 1, "/schemas/ids/9": 1}, requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestARegistryInTroubleIsNoRefusedRow: an outage can be sat out, an id that nobody knows is told, and what is decoded before and after stays.
func TestARegistryInTroubleIsNoRefusedRow(t *testing.T) {
	f, r := wired(t)
	r.SeedSchema("t-value", 1, 7, sr.Schema{Schema: `{"type":"record","name":"R","fields":[{"name":"id","type":"int"}]}`})
	r.SeedSchema("t-value", 2, 8, sr.Schema{Schema: `"long"`})
	d := decoderOf(t, f, columnsOf(t, "id BIGINT"))
	down := true
	r.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		if down {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return down
	})
	if err := d.Decode(framed(7, 2)); errcode.ClassOf(err) != errcode.Retry || !errcode.Has(err, errcode.RegistryUnreachable) {
		t.Errorf("an outage: %v", err)
	}
	down = false
	for _, msg := range [][]byte{framed(7, 2), framed(7, 4)} {
		if err := d.Decode(msg); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Decode(framed(99, 2)); !errcode.Has(err, errcode.RegistryUnknownID) {
		t.Errorf("an unknown id: %v", err)
	}
	if err := d.Decode(framed(8, 2)); !errcode.Has(err, errcode.AvroSchema) {
		t.Errorf("a schema without fields: %v", err)
	}
	if d.Rows() != 2 {
		t.Errorf("%d rows are left", d.Rows())
	}
	d.Flush().Release()
}

// TestTheFormatWithARegistryServesManyGoroutines: decoders share what is known of schemas.
func TestTheFormatWithARegistryServesManyGoroutines(t *testing.T) {
	f, r := wired(t)
	for id := 1; id <= 5; id++ {
		r.SeedSchema("t-value", id, id, sr.Schema{Schema: `{"type":"record","name":"R","fields":[{"name":"id","type":"int"}]}`})
	}
	columns := columnsOf(t, "id BIGINT")
	var all sync.WaitGroup
	for range 4 {
		d := decoderOf(t, f, columns)
		all.Go(func() {
			for i := range 100 {
				if err := d.Decode(framed(i%5+1, 2)); err != nil {
					t.Error(err)
				}
			}
			d.Flush().Release()
		})
	}
	all.Wait()
}
