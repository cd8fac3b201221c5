//go:build cgo && duckdb_arrow

package sql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"microbatch/internal/errcode"
	"microbatch/schema"
	"microbatch/transforms"
	"microbatch/transforms/sql"
	"microbatch/transforms/transformtest"
)

func ddl(t *testing.T, text string) *arrow.Schema {
	t.Helper()
	s, err := schema.ParseDDL(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func orders(t *testing.T) transformtest.Input {
	in := transformtest.Input{Schema: ddl(t, "id STRING, amount DECIMAL(10,2), ts TIMESTAMP, tags ARRAY<STRING>")}
	for c := range 4 {
		var rows []string
		for i := range 50 {
			rows = append(rows, fmt.Sprintf(`{"id": "o%d", "amount": "%d.50", "ts": "2024-02-%02d 23:30:00Z", "tags": ["a", null]}`, c*50+i, i-25, 1+i%28))
		}
		rows = append(rows, `{"id": null, "amount": null, "ts": null, "tags": null}`)
		in.Chunks = append(in.Chunks, "["+strings.Join(rows, ",")+"]")
	}
	return in
}

func operator(t *testing.T, text string) *sql.Operator {
	op := sql.New(sql.Config{SQL: text, TempDir: t.TempDir()})
	t.Cleanup(func() { op.Close() })
	return op
}

func TestConformance(t *testing.T) {
	for _, text := range []string{
		"SELECT *, ts::DATE AS day, now() AS seen FROM batch WHERE amount > 0",
		"SELECT day(ts) AS d, count(*) AS n, sum(amount) AS total FROM batch GROUP BY ALL",
		"SELECT a.id, b.amount FROM batch a JOIN batch b USING (id) WHERE a.amount < 3",
		"SELECT id FROM batch ORDER BY id LIMIT 5",
		"SELECT id FROM batch WHERE 1 = 0",
	} {
		t.Run(text, func(t *testing.T) {
			transformtest.Run(t, func() transforms.Operator { return sql.New(sql.Config{SQL: text, TempDir: t.TempDir()}) }, orders(t))
		})
	}
}

func TestAPlanOfProjectionAndFilterRunsPerPart(t *testing.T) {
	in := orders(t).Schema
	for text, want := range map[string]transforms.DistributionKind{
		"SELECT *, ts::DATE AS day FROM batch WHERE amount > 0":                         transforms.Any,
		"SELECT upper(id) AS id, CASE WHEN amount > 3 THEN 1 END AS x FROM batch":       transforms.Any,
		"WITH x AS (SELECT id, amount * 2 AS a FROM batch) SELECT * FROM x WHERE a > 1": transforms.Any,
		"FROM batch":                                                          transforms.Any,
		"SELECT id FROM batch WHERE false":                                    transforms.Whole,
		"SELECT count(*) AS n FROM batch":                                     transforms.Whole,
		"SELECT DISTINCT id FROM batch":                                       transforms.Whole,
		"SELECT id FROM batch LIMIT 10":                                       transforms.Whole,
		"SELECT id, row_number() OVER () AS n FROM batch":                     transforms.Whole,
		"SELECT unnest(tags) AS tag FROM batch":                               transforms.Whole,
		"SELECT id FROM batch UNION ALL FROM (SELECT id FROM batch)":          transforms.Whole,
		"SELECT id FROM batch WHERE amount > (SELECT avg(amount) FROM batch)": transforms.Whole,
	} {
		op := operator(t, text)
		if _, err := op.Output(in); err != nil {
			t.Fatal(text, err)
		}
		if got := op.Requires().Kind; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
		if err := op.Close(); err != nil { // validate reads the warnings after it
			t.Fatal(err)
		}
		if warned := len(op.Guarantee().Warnings) > 0; warned != (want == transforms.Whole) {
			t.Errorf("%s: warnings %q", text, op.Guarantee().Warnings)
		}
	}
}

func TestFunctionsOfTheClockAreTheBatchTimestamp(t *testing.T) {
	op := operator(t, `SELECT now() AS a, current_timestamp AS b, get_current_timestamp() AS c, transaction_timestamp() AS d, current_date AS e, today() AS f,
		localtimestamp AS g, current_time::VARCHAR AS h, localtime::VARCHAR AS i, age(now(), ts)::VARCHAR AS j FROM batch WHERE id = 'o1'`)
	rows, _ := transformtest.Rows(t, op, orders(t), 1)
	want := "a=2024-02-29T12:34:56.789Z b=2024-02-29T12:34:56.789Z c=2024-02-29T12:34:56.789Z d=2024-02-29T12:34:56.789Z e=2024-02-29 f=2024-02-29 " +
		"g=2024-02-29T12:34:56.789Z h=12:34:56.789+00 i=12:34:56.789 j=26 days 13:04:56.789"
	if diff := cmp.Diff([]string{strings.ReplaceAll(want, "g=2024-02-29T12:34:56.789Z", "g="+cell(rows[0], "g"))}, rows); diff != "" {
		t.Error(diff)
	}
	if op.Requires().Kind != transforms.Any {
		t.Error("functions of the clock make it whole")
	}
}

func cell(row, name string) string {
	_, rest, _ := strings.Cut(row, name+"=")
	value, _, _ := strings.Cut(rest, " h=")
	return value
}

func TestWhatWouldNotRepeatIsRefused(t *testing.T) {
	in := orders(t).Schema
	for text, at := range map[string]string{
		"SELECT id, random() AS r FROM batch":                                         "sql 1:12",
		"SELECT id,\n  uuid() AS r FROM batch":                                        "sql 2:3",
		"SELECT id FROM batch WHERE RANDOM() < 0.1":                                   "sql 1:28",
		"SELECT gen_random_uuid() AS x FROM batch":                                    "sql 1:8",
		"SELECT uuidv7() AS x FROM batch":                                             "sql 1:8",
		"SELECT system.main.random() AS x FROM batch":                                 "sql 1:8",
		"SELECT age(ts) AS x FROM batch":                                              "sql 1:8",
		"SELECT ago(INTERVAL 1 DAY) AS x FROM batch":                                  "sql 1:8",
		"SELECT id FROM batch USING SAMPLE 10%":                                       "",
		"SELECT id FROM batch TABLESAMPLE 10%":                                        "",
		"SELECT b.id FROM batch b, read_csv('/tmp/x.csv') c":                          "",
		"SELECT setting FROM batch, (SELECT value AS setting FROM duckdb_settings())": "",
		"SELECT (SELECT max(random())) AS x FROM batch":                               "",
	} {
		_, err := operator(t, text).Output(in)
		if !errcode.Has(err, errcode.SQLNotRepeatable) || at != "" && !strings.Contains(err.Error(), at+":") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSystemClockCannotBeReachedByItsFullName(t *testing.T) {
	for _, text := range []string{"SELECT system.main.now() AS x FROM batch", "SELECT pg_catalog.pg_conf_load_time() AS x FROM batch"} {
		if _, err := operator(t, text).Output(orders(t).Schema); !errcode.Has(err, errcode.SQLNotRepeatable) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestWrongSQLIsAnErrorThatNamesThePlace(t *testing.T) {
	in := orders(t).Schema
	for _, c := range []struct{ text, place, message string }{
		{"SELEC 1", "sql 1:1", "syntax error"},
		{"SELECT id,\n  nosuch\nFROM batch", "sql 2:3", `"nosuch" not found`},
		{"SELECT id + 1 AS x FROM batch", "sql 1:11", "No function matches"},
		{"SELECT id FROM other", "", ""},
		{"SELECT b.id FROM batch b, other", "sql 1:27", "other does not exist"},
		{"SELECT 1 AS one", "sql", "does not read the view batch"},
		{"WITH batch AS (SELECT 1 AS one) SELECT * FROM batch", "sql", "does not read the view batch"},
		{"INSERT INTO batch VALUES (1)", "sql", "only SELECT"},
		{"SELECT id FROM batch; SELECT id FROM batch", "sql", "one SELECT"},
		{"COPY batch TO '/tmp/x'", "sql", "only SELECT"},
		{"ATTACH '/tmp/x.db'", "sql", ""},
		{"SELECT id, id FROM batch", "sql", ""},
		{"SELECT id, amount AS ID FROM batch", "sql", ""},
		{"SELECT * FROM batch, '/etc/passwd.csv'", "sql", ""},
		{"", "sql", ""},
	} {
		_, err := operator(t, c.text).Output(in)
		if errcode.ClassOf(err) != errcode.Config || !errcode.Has(err, errcode.SQLInvalid) || !strings.Contains(err.Error(), c.place) || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}

func TestAnErrorOnARowIsOfClassData(t *testing.T) {
	for _, text := range []string{"SELECT id::INT AS n FROM batch", "SELECT sum(id::INT) AS n FROM batch", "SELECT error('bad ' || id) AS x FROM batch"} {
		op := operator(t, text)
		in := orders(t)
		if _, err := op.Output(in.Schema); err != nil {
			t.Fatal(text, err)
		}
		err := firstError(t, op, in)
		if !errcode.Has(err, errcode.SQLFailed) || errcode.ClassOf(err) != errcode.Data {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTypesThatTablesDoNotHaveAreCastOrRefused(t *testing.T) {
	in := transformtest.Input{Schema: ddl(t, "i BIGINT, s STRING, ts TIMESTAMP_NTZ"), Chunks: []string{`[{"i": 1, "s": "b", "ts": "2024-01-02 03:04:05.678901"}]`}}
	op := operator(t, `SELECT i::UTINYINT AS a, i::USMALLINT AS b, i::UINTEGER AS c, i::UBIGINT AS d, i::HUGEINT AS e, i::UHUGEINT AS f, s::ENUM('a', 'b') AS g,
		'c9b2a9f0-2f1c-4b1c-8a1e-111111111111'::UUID AS h, ts::TIMESTAMP_S AS i, ts::TIMESTAMP_MS AS j, ts::TIMESTAMP_NS AS k, [i, 2]::BIGINT[2] AS l,
		[i::UTINYINT] AS m, {'x': i::HUGEINT, 'y': MAP {s: i::UTINYINT}} AS n, '{"a":1}'::JSON AS o FROM batch -- the end`)
	out, err := op.Output(in.Schema)
	if err != nil {
		t.Fatal(err)
	}
	want := "a SMALLINT, b INT, c BIGINT, d DECIMAL(20,0), e DECIMAL(38,0), f DECIMAL(38,0), g STRING, h STRING, i TIMESTAMP_NTZ, j TIMESTAMP_NTZ, k TIMESTAMP_NTZ, " +
		"l ARRAY<BIGINT>, m ARRAY<SMALLINT>, n STRUCT<x: DECIMAL(38,0), y: MAP<STRING, SMALLINT>>, o STRING"
	if got := schema.FormatDDL(out); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if op.Requires().Kind != transforms.Any {
		t.Error("casts make it whole")
	}
	rows, _ := transformtest.Rows(t, op, in, 1)
	wantRow := `a=1 b=1 c=1 d=1 e=1 f=1 g=b h=c9b2a9f0-2f1c-4b1c-8a1e-111111111111 i=2024-01-02T03:04:06 j=2024-01-02T03:04:05.679 k=2024-01-02T03:04:05.678901 ` +
		`l=[1,2] m=[1] n={"x":"1","y":[{"key":"b","value":1}]} o={"a":1}`
	if diff := cmp.Diff([]string{wantRow}, rows); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"SELECT current_time AS x FROM batch", "SELECT INTERVAL 1 DAY AS x FROM batch", "SELECT '101'::BIT AS x FROM batch", "SELECT [localtime] AS x FROM batch"} {
		if _, err := operator(t, text).Output(in.Schema); !errcode.Has(err, errcode.SQLType) || !strings.Contains(err.Error(), "column x") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAllTypesGoThroughUnchanged(t *testing.T) {
	in := transformtest.Input{
		Schema: ddl(t, "a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h DECIMAL(9,2), i DECIMAL(38,10), j STRING, k BINARY, l DATE, m TIMESTAMP, n TIMESTAMP_NTZ, o ARRAY<INT>, p MAP<STRING, BIGINT>, q STRUCT<x: INT, y: ARRAY<STRUCT<z: STRING>>>"),
		Chunks: []string{`[{"a": true, "b": -128, "c": 32767, "d": -5, "e": 9223372036854775807, "f": 1.5, "g": -2.25, "h": "1234567.89", "i": "-1234567890123456789012345678.0123456789", "j": "héllo", "k": "AP8=",
			"l": "1969-12-31", "m": "2024-01-02 03:04:05.678901Z", "n": "1960-01-02 03:04:05.678901", "o": [1, null], "p": [{"key": "k", "value": 2}], "q": {"x": 1, "y": [{"z": "deep"}, null]}}]`,
			`[{}]`},
	}
	op := operator(t, "SELECT * FROM batch")
	out, err := op.Output(in.Schema)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := schema.FormatDDL(out), schema.FormatDDL(in.Schema); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got, _ := transformtest.Rows(t, op, in, 2)
	want, _ := transformtest.Rows(t, identity{}, in, 2)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
