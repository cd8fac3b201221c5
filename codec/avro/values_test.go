package avro

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"microbatch/codec/column"
	"microbatch/internal/errcode"
)

// TestTheSchemaThatIsMadeOfColumns: its text, which registries compare, does not change from version to version of this program.
func TestTheSchemaThatIsMadeOfColumns(t *testing.T) {
	s, err := Derive("com.shop.Order", columnsOf(t, "id BIGINT NOT NULL, name STRING, small TINYINT, x DECIMAL(10,2), day DATE, ts TIMESTAMP, tn TIMESTAMP_NTZ, raw BINARY, ok BOOLEAN, f FLOAT, d DOUBLE, "+
		"tags ARRAY<STRING>, m MAP<STRING, STRUCT<q: INT>>, st STRUCT<q: INT NOT NULL, deep: STRUCT<q: INT>>"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"record","name":"Order","namespace":"com.shop","fields":[` +
		`{"name":"id","type":"long"},` +
		`{"name":"name","type":["null","string"],"default":null},` +
		`{"name":"small","type":["null","int"],"default":null},` +
		`{"name":"x","type":["null",{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}],"default":null},` +
		`{"name":"day","type":["null",{"type":"int","logicalType":"date"}],"default":null},` +
		`{"name":"ts","type":["null",{"type":"long","logicalType":"timestamp-micros"}],"default":null},` +
		`{"name":"tn","type":["null",{"type":"long","logicalType":"local-timestamp-micros"}],"default":null},` +
		`{"name":"raw","type":["null","bytes"],"default":null},` +
		`{"name":"ok","type":["null","boolean"],"default":null},` +
		`{"name":"f","type":["null","float"],"default":null},` +
		`{"name":"d","type":["null","double"],"default":null},` +
		`{"name":"tags","type":["null",{"type":"array","items":["null","string"]}],"default":null},` +
		`{"name":"m","type":["null",{"type":"map","values":["null",{"type":"record","name":"m","namespace":"com.shop.Order","fields":[{"name":"q","type":["null","int"],"default":null}]}]}],"default":null},` +
		`{"name":"st","type":["null",{"type":"record","name":"st","namespace":"com.shop.Order","fields":[{"name":"q","type":"int"},` +
		`{"name":"deep","type":["null",{"type":"record","name":"deep","namespace":"com.shop.Order.st","fields":[{"name":"q","type":["null","int"],"default":null}]}],"default":null}]}],"default":null}` +
		`]}`
	if s.Text() != want {
		t.Errorf("got\n%s\nwant\n%s", s.Text(), want)
	}
	for _, ddl := range []string{"`a b` INT", "m MAP<INT, INT>", "st STRUCT<`é`: INT>"} {
		if _, err := Derive("R", columnsOf(t, ddl)); !errcode.Has(err, errcode.AvroColumns) {
			t.Errorf("%s: %v", ddl, err)
		}
	}
	for topic, want := range map[string]string{"orders": "orders", "shop.orders-v1": "shop_orders_v1", "1st": "_1st", "": "_"} {
		if got := DefaultName(topic); got != want {
			t.Errorf("topic %s: record %s", topic, got)
		}
	}
}

// oneRow is a record of one row, its values given as text; "" is null.
func oneRow(t *testing.T, columns *arrow.Schema, texts ...string) arrow.RecordBatch {
	t.Helper()
	cols, err := column.New(columns, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer cols.Release()
	for i, c := range cols.Cols() {
		if texts[i] == "" {
			c.AppendNull()
		} else if !c.AppendText([]byte(texts[i])) {
			t.Fatal(texts[i])
		}
	}
	return cols.Flush(1)
}

// TestRowsByASchemaThatIsGiven: which columns go with which schema, what is written, and which values cannot be.
func TestRowsByASchemaThatIsGiven(t *testing.T) {
	field := func(avro string) string { return `{"name":"c","type":` + avro + `}` }
	for _, test := range []struct {
		fields, ddl, text string
		want              string // the bytes, or what the error says
	}{
		{field(`"long"`), "c INT", "-2", "03"},
		{field(`"int"`), "c SMALLINT", "1", "02"},
		{field(`"int"`), "c BIGINT", "1", "MB3202 the schema R: column c is BIGINT, and the schema wants int"},
		{field(`"long"`), "c BIGINT", "", "column c is null, and the schema has no null there"},
		{field(`["long","null"]`), "c BIGINT", "", "02"},
		{field(`["long","null"]`), "c BIGINT", "1", "0002"},
		{field(`["null","string","long"]`), "c BIGINT", "1", "0402"},
		{field(`["null","string"]`), "c BIGINT", "1", "MB3202 the schema R: column c is BIGINT, and the schema wants string"},
		{field(`"double"`), "c FLOAT", "1.5", "000000000000f83f"},
		{field(`"float"`), "c DOUBLE", "1.5", "MB3202"},
		{field(`{"type":"long","logicalType":"timestamp-millis"}`), "c TIMESTAMP", "1969-12-31T23:59:59.999999Z", "01"},
		{field(`{"type":"long","logicalType":"timestamp-nanos"}`), "c TIMESTAMP", "1970-01-01T00:00:00.000001Z", "d00f"},
		{field(`{"type":"long","logicalType":"timestamp-nanos"}`), "c TIMESTAMP", "9999-01-01T00:00:00Z", "column c has a time that nanoseconds since 1970 do not reach"},
		{field(`{"type":"long","logicalType":"local-timestamp-millis"}`), "c TIMESTAMP_NTZ", "1970-01-01T00:00:01", "d00f"},
		{field(`{"type":"long","logicalType":"timestamp-millis"}`), "c TIMESTAMP_NTZ", "1970-01-01T00:00:01", "MB3202"},
		{field(`"long"`), "c TIMESTAMP", "1970-01-01T00:00:01Z", "MB3202"},
		{field(`{"type":"enum","name":"E","symbols":["A","B"]}`), "c STRING", "B", "02"},
		{field(`{"type":"enum","name":"E","symbols":["A","B"]}`), "c STRING", "secret", "column c has a value that is none of the schema's symbols"},
		{field(`{"type":"fixed","name":"F","size":2}`), "c BINARY", "AQI=", "0102"},
		{field(`{"type":"fixed","name":"F","size":2}`), "c BINARY", "AQ==", "column c has a value of 1 bytes, and the schema wants 2"},
		{field(`{"type":"fixed","name":"F","size":3,"logicalType":"decimal","precision":5,"scale":1}`), "c DECIMAL(5,1)", "-0.2", "fffffe"},
		{field(`{"type":"bytes","logicalType":"decimal","precision":12,"scale":1}`), "c DECIMAL(5,1)", "12.8", "040080"},
		{field(`{"type":"bytes","logicalType":"decimal","precision":4,"scale":1}`), "c DECIMAL(5,1)", "1", "MB3202"},
		{field(`{"type":"bytes","logicalType":"decimal","precision":12,"scale":2}`), "c DECIMAL(5,1)", "1", "MB3202"},
		{field(`{"type":"bytes","logicalType":"decimal","precision":12,"scale":2}`), "c STRING", "1", "MB3202"},
		{field(`"bytes"`), "c STRING", "a", "0261"},
		{field(`"string"`), "c BINARY", "YQ==", "MB3202"},
		{field(`"int"`) + `,{"name":"d","type":["string","null"],"default":"x"},{"name":"e","type":["null","int"],"default":null},{"name":"g","type":"long","default":64}`, "c INT", "1", "0200" + "0278" + "00" + "8001"},
		{field(`"int"`) + `,{"name":"d","type":"string"}`, "c INT", "1", "MB3202 the schema R: field d has no column, and no default"},
		{field(`"int"`) + `,{"name":"d","type":{"type":"record","name":"D","fields":[{"name":"q","type":"int"}]},"default":{"q":3}}`, "c INT", "1", "0206"},
	} {
		t.Run(test.fields+" of "+test.ddl, func(t *testing.T) {
			columns := columnsOf(t, test.ddl)
			e, err := NewEncoder(parse(t, `{"type":"record","name":"R","fields":[`+test.fields+`]}`), columns)
			got := ""
			if err == nil {
				record := oneRow(t, columns, test.text)
				defer record.Release()
				var msg []byte
				msg, err = e.AppendRow(nil, record, 0)
				got = fmt.Sprintf("%x", msg)
			}
			if err != nil {
				got = err.Error()
			}
			if got != test.want && (test.want != "MB3202" || !errcode.Has(err, errcode.AvroColumns)) {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
	if _, err := NewEncoder(parse(t, `{"type":"record","name":"R","fields":[]}`), columnsOf(t, "c INT")); err == nil || !strings.Contains(err.Error(), "column c has no field in R") {
		t.Errorf("a column without a field: %v", err)
	}
}

// TestTextsThatAreNoSchema are refused with a code, whatever is wrong.
func TestTextsThatAreNoSchema(t *testing.T) {
	for _, text := range []string{
		"", "{", `"long"`, "orders.avsc", `{"type":"record","name":"R"}`, `{"type":"record","name":"R","fields":[{"name":"a","type":"Unknown"}]}`, `{"type":"array","items":"int"}`,
		`{"type":"record","name":"R","fields":[{"name":"f","type":{"type":"fixed","name":"F","size":-1}}]}`, `{"type":"record","name":"R-1","fields":[]}`,
	} {
		if _, err := Parse(text); !errcode.Has(err, errcode.AvroSchema) {
			t.Errorf("%s: %v", text, err)
		}
	}
	s, err := Parse(`{"type":"record","name":"R","fields":[{"name":"a","type":"shop.A"}]}`, `{"type":"record","name":"A","namespace":"shop","fields":[{"name":"x","type":"int"}]}`)
	if err != nil || s.Name() != "R" {
		t.Errorf("with a reference: %v", err)
	}
}

// TestValuesAndTheRegistry: a check writes nothing; a schema is registered once, under the subject; values begin with its id; who may not register is told what is missing.
func TestValuesAndTheRegistry(t *testing.T) {
	r := srfake.New()
	t.Cleanup(r.Close)
	rows := columnsOf(t, "id BIGINT")
	c := client(t, r.URL())
	v := NewValues(ValuesOptions{Name: "orders", Registry: c, Subject: "orders-value"})
	lookUp := NewValues(ValuesOptions{Name: "orders", Registry: c, Subject: "orders-value", LookUp: true})
	ctx := t.Context()
	record := oneRow(t, rows, "1")
	defer record.Release()
	if err := v.Check(ctx, rows); err != nil {
		t.Fatal(err)
	}
	if err := lookUp.Check(ctx, rows); !errcode.Has(err, errcode.RegistryUnregistered) || !strings.Contains(err.Error(), `"name":"orders"`) {
		t.Errorf("a schema that is not registered: %v", err)
	}
	if r.SubjectExists("orders-value") {
		t.Error("a check has registered the schema")
	}
	e, err := v.Encoder(rows)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.AppendRow(nil, record, 0); !errcode.Has(err, errcode.RegistryUnregistered) {
		t.Errorf("a row before its schema has an id: %v", err)
	}
	for range 2 {
		if err := v.Register(ctx, rows); err != nil {
			t.Fatal(err)
		}
	}
	known, ok := r.GetSchema("orders-value", 1)
	if _, two := r.GetSchema("orders-value", 2); !ok || two {
		t.Fatalf("registered as %v, and a second time: %v", known, two)
	}
	for _, v := range []*Values{v, lookUp, NewValues(ValuesOptions{Name: "orders", Registry: c, Subject: "orders-value"})} {
		if err := v.Check(ctx, rows); err != nil {
			t.Fatal(err)
		}
		e, err := v.Encoder(rows)
		if err != nil {
			t.Fatal(err)
		}
		if msg, err := e.AppendRow(nil, record, 0); err != nil || string(msg) != string(framed(known.ID, 2, 2)) {
			t.Errorf("%x, %v", msg, err)
		}
	}

	wider := columnsOf(t, "id BIGINT, more STRING NOT NULL")
	r.Intercept(func(w http.ResponseWriter, q *http.Request) bool {
		if strings.HasPrefix(q.URL.Path, "/compatibility") {
			fmt.Fprint(w, `{"is_compatible":false,"messages":["more has no default"]}`)
			return true
		}
		return false
	})
	if err := v.Check(ctx, wider); !errcode.Has(err, errcode.RegistryIncompatible) || !strings.Contains(err.Error(), "more has no default") {
		t.Errorf("an incompatible schema: %v", err)
	}
}
