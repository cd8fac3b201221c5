package project_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"microbatch/batch"
	"microbatch/internal/errcode"
	"microbatch/schema"
	"microbatch/transforms"
	"microbatch/transforms/project"
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

// sample has a row of ordinary values, one of odd ones and one of nulls.
func sample(t *testing.T) transformtest.Input {
	return transformtest.Input{
		Schema: ddl(t, "id STRING NOT NULL COMMENT 'key', n INT, small TINYINT, big BIGINT, amount DECIMAL(10,2), f DOUBLE, g FLOAT, ok BOOLEAN, "+
			"d DATE, ts TIMESTAMP, local TIMESTAMP_NTZ, raw BINARY, tags ARRAY<STRING>, who STRUCT<name: STRING, at: STRUCT<city: STRING>>"),
		Chunks: []string{
			`[{"id": "a", "n": 1, "small": 7, "big": 5000000000, "amount": "12.34", "f": 1.5, "g": 0.5, "ok": true, "d": "2024-02-29", "ts": "2024-02-29 23:30:00.5Z",
			   "local": "2024-02-29 23:30:00", "raw": "aGk=", "tags": ["x"], "who": {"name": "Ann", "at": {"city": "Bonn"}}}]`,
			`[{"id": "b", "n": -2, "small": -128, "big": -1, "amount": "-0.01", "f": -2.75, "g": 2.5, "ok": false, "d": "1969-12-31", "ts": "1969-12-31 23:59:59.999999Z",
			   "local": "0001-01-01 00:00:00", "raw": "/w==", "tags": [], "who": {"name": null, "at": null}}]`,
			`[{"id": "c"}]`,
		},
	}
}

func TestConformance(t *testing.T) {
	t.Run("select", func(t *testing.T) {
		transformtest.Run(t, func() transforms.Operator {
			return project.NewSelect([]string{"id", "n::STRING AS n", "who.at.city", "1 AS one", "amount", "tags"})
		}, sample(t))
	})
	t.Run("filter", func(t *testing.T) {
		transformtest.Run(t, func() transforms.Operator { return project.NewFilter("n > 0 OR id = 'c'") }, sample(t))
	})
}

func TestFilterKeepsTheRowsForWhichTheConditionIsTrue(t *testing.T) {
	in := sample(t)
	for condition, want := range map[string]string{
		"id = 'a'":                             "a",
		"'a' < id":                             "b c",
		"n > 0":                                "a",
		"n <> 1":                               "b",
		"NOT n = 1":                            "b",
		"NOT (n = 1 OR n IS NULL)":             "b",
		"n IS NULL":                            "c",
		"n is not null":                        "a b",
		"n = 1 OR id = 'c'":                    "a c",
		"n = 1 AND id = 'c'":                   "",
		"n = 7 AND f > 0 OR id = 'b'":          "b",
		"n IN (1, 2, 3)":                       "a",
		"n NOT IN (1, 2, 3)":                   "b",
		"id IN ('b', 'c')":                     "b c",
		"n < 1.5":                              "a b",
		"n = 1.5":                              "",
		"n <> 1.5":                             "a b",
		"n >= 0.5":                             "a",
		"n > -2.5":                             "a b",
		"n < -1.5":                             "b",
		"small < 1000":                         "a b",
		"small > 1000":                         "",
		"small >= -128":                        "a b",
		"small > -129":                         "a b",
		"small < -1e30":                        "",
		"big = 5000000000":                     "a",
		"big > 9223372036854775807":            "",
		"big < 9223372036854775808":            "a b",
		"amount = 12.34":                       "a",
		"amount > 12.339":                      "a",
		"amount >= 12.341":                     "",
		"amount < 0":                           "b",
		"amount < 1e20":                        "a b",
		"amount = 12.340":                      "a",
		"f >= 1.5":                             "a",
		"f = -275e-2":                          "b",
		"g = 2.5":                              "b",
		"ok":                                   "a",
		"NOT ok":                               "b",
		"ok = FALSE":                           "b",
		"ok <> true":                           "b",
		"d = '2024-02-29'":                     "a",
		"d < DATE '1970-01-01'":                "b",
		"ts > '2024-02-29T23:00:00'":           "a",
		"ts = '2024-03-01 00:30:00.5+01:00'":   "a",
		"ts < TIMESTAMP '1970-01-01 00:00:00'": "b",
		"local = '2024-02-29 23:30'":           "a",
		"local < '2000-01-01'":                 "b",
		"who.name = 'Ann'":                     "a",
		"WHO.AT.CITY IS NULL":                  "b c",
		"`who`.\"at\".city = 'Bonn'":           "a",
		"n::STRING = '1'":                      "a",
		"CAST(amount AS INT) = 12":             "a",
		"ts::DATE = '2024-02-29'":              "a",
		"TRY_CAST(id AS INT) IS NULL":          "a b c",
		"id <> 'it''s'":                        "a b c",
	} {
		rows, counts := transformtest.Rows(t, project.NewFilter(condition), in, 1)
		var ids []string
		for _, row := range rows {
			ids = append(ids, row[3:4])
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%s: %q, want %q", condition, got, want)
		}
		if counts.In != 3 || counts.Out != int64(len(rows)) || counts.Filtered != 3-counts.Out {
			t.Errorf("%s: %+v", condition, counts)
		}
	}
}

func TestSelectChoosesRenamesAndCasts(t *testing.T) {
	in := sample(t)
	for _, c := range []struct{ items, schema, rows string }{
		{"id, N", "id STRING NOT NULL COMMENT 'key', n INT", "id=a n=1|id=b n=-2|id=c n=(null)"},
		{"id AS key, n AS `a b-c`", "", ""},
		{"id AS key, n AS number", "key STRING NOT NULL COMMENT 'key', number INT", "key=a number=1|key=b number=-2|key=c number=(null)"},
		{"* EXCEPT (small, big, f, g, ok, d, ts, local, raw, tags, who), who.name AS name", "id STRING NOT NULL COMMENT 'key', n INT, amount DECIMAL(10,2), name STRING",
			"id=a n=1 amount=12.34 name=Ann|id=b n=-2 amount=-0.01 name=(null)|id=c n=(null) amount=(null) name=(null)"},
		{"who.at.city", "city STRING", "city=Bonn|city=(null)|city=(null)"},
		{"id, 1 AS a, 5000000000 AS b, -1.50 AS c, 'x' AS d, TRUE AS e, DATE '2024-01-02' AS f, 1e3 AS g, TIMESTAMP '2024-01-02 03:04:05Z' AS h",
			"id STRING NOT NULL COMMENT 'key', a INT, b BIGINT, c DECIMAL(3,2), d STRING, e BOOLEAN, f DATE, g DOUBLE, h TIMESTAMP",
			"id=a a=1 b=5000000000 c=-1.5 d=x e=true f=2024-01-02 g=1000 h=2024-01-02T03:04:05Z|..."},
		{"n::STRING, amount::DOUBLE, amount::DECIMAL(10,1) AS r, amount::INT AS i, f::INT AS fi, f::DECIMAL(5,1) AS fd, g::STRING AS gs",
			"n STRING, amount DOUBLE, r DECIMAL(10,1), i INT, fi INT, fd DECIMAL(5,1), gs STRING",
			"n=1 amount=12.34 r=12.3 i=12 fi=1 fd=1.5 gs=0.5|n=-2 amount=-0.01 r=0 i=0 fi=-2 fd=-2.8 gs=2.5|..."},
		{"ts::DATE AS a, ts::STRING AS b, d::TIMESTAMP AS c, d::STRING AS e, local::TIMESTAMP AS f, ts::TIMESTAMP_NTZ::STRING AS g",
			"a DATE, b STRING, c TIMESTAMP, e STRING, f TIMESTAMP, g STRING",
			"a=2024-02-29 b=2024-02-29 23:30:00.5 c=2024-02-29T00:00:00Z e=2024-02-29 f=2024-02-29T23:30:00Z g=2024-02-29 23:30:00.5|" +
				"a=1969-12-31 b=1969-12-31 23:59:59.999999 c=1969-12-31T00:00:00Z e=1969-12-31 f=0001-01-01T00:00:00Z g=1969-12-31 23:59:59.999999|..."},
		{"ok::INT AS a, n::BOOLEAN AS b, ok::STRING AS c, TRY_CAST(raw AS STRING) AS d, id::BINARY AS e, big::FLOAT AS f, TRY_CAST(big AS INT) AS g",
			"a INT, b BOOLEAN, c STRING, d STRING, e BINARY, f FLOAT, g INT",
			"a=1 b=true c=true d=hi e=YQ== f=5e+09 g=(null)|a=0 b=true c=false d=(null) e=Yg== f=-1 g=-1|..."},
	} {
		op := project.NewSelect(splitItems(c.items))
		if c.schema == "" { // a name that no table can have
			if _, err := op.Output(in.Schema); !errcode.Has(err, errcode.ExpressionInvalid) {
				t.Errorf("%s: %v", c.items, err)
			}
			continue
		}
		out, err := op.Output(in.Schema)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := schema.FormatDDL(out); got != c.schema {
			t.Errorf("%s\ngot  %s\nwant %s", c.items, got, c.schema)
		}
		rows := unsorted(t, op, in)
		got, want := strings.Join(rows, "|"), c.rows
		if head, open := strings.CutSuffix(want, "..."); open {
			got, want = got[:min(len(got), len(head))], head
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%s", c.items, diff)
		}
	}
}

// splitItems cuts a list at commas outside parentheses.
func splitItems(s string) (items []string) {
	depth, start := 0, 0
	for i, r := range s {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			items, start = append(items, s[start:i]), i+1
		}
	}
	return append(items, s[start:])
}

// unsorted are the rows in the order of the chunks, which have one each.
func unsorted(t *testing.T, op transforms.Operator, in transformtest.Input) (rows []string) {
	t.Helper()
	for _, chunk := range in.Chunks {
		row, _ := transformtest.Rows(t, op, transformtest.Input{Schema: in.Schema, Chunks: []string{chunk}}, 1)
		rows = append(rows, row...)
	}
	return rows
}

func TestWrongExpressionsAreErrorsThatNameThePlace(t *testing.T) {
	in := sample(t).Schema
	filters := map[string]string{
		"nosuch = 1":                     `filter "nosuch = 1", column 1: there is no column nosuch; there are id, n,`,
		"n = 'x'":                        `column 5: n is INT and cannot be compared with x`,
		"id = 1":                         "id is STRING and cannot be compared with 1",
		"id":                             "id is STRING, and a condition is BOOLEAN",
		"n = big":                        "must be a literal",
		"n + 1 > 2":                      "unexpected \"+\": select and filter know columns, casts and comparisons with a literal; write this step with sql",
		"upper(id) = 'A'":                "upper(...) is not known here: select and filter know",
		"id LIKE 'a%'":                   "unexpected \"LIKE\"",
		"n BETWEEN 1 AND 2":              "unexpected \"BETWEEN\"",
		"n =":                            "found the end",
		"(n = 1":                         `")" expected, found the end`,
		"n = 1)":                         `unexpected ")"`,
		"n IS 1":                         `"NULL" expected`,
		"d = '2024-13-01'":               `"2024-13-01" is no DATE`,
		"ts = 'yesterday'":               `"yesterday" is no TIMESTAMP`,
		"local = '2024-01-01 00:00:00Z'": "is no TIMESTAMP_NTZ",
		"id = 'x":                        "is not closed",
		"n # 1":                          "'#' is not part of select and filter",
		"n IN ()":                        "found \")\"",
		"n IN (id)":                      "IN takes literals",
		"tags IS NOT NULL AND tags::STRING = 'x'": "tags is ARRAY<STRING>, which has no cast to STRING",
		"n.x = 1":             "n is INT and has no parts",
		"who.x = 1":           "there is no column who.x; there are name, at",
		"CAST(n AS NOPE) = 1": `"NOPE" is not a type`,
		"n = 1e999999999":     "is no number",
		"":                    "found the end",
		strings.Repeat("(", 1000) + "ok" + strings.Repeat(")", 1000): "nested more than 200 deep",
	}
	for condition, want := range filters {
		_, err := project.NewFilter(condition).Output(in)
		if !errcode.Has(err, errcode.ExpressionInvalid) || errcode.ClassOf(err) != errcode.Config || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", condition, err, want)
		}
	}
	for item, want := range map[string]string{
		"1":               "a literal needs a name",
		"id AS":           "a name expected",
		"n + 1 AS x":      "write this step with sql",
		"* EXCEPT (nope)": "there is no column nope",
		"d::INT":          "d is DATE, which has no cast to INT",
		"raw::INT":        "no cast",
		"*, id":           "unexpected \",\"",
	} {
		_, err := project.NewSelect([]string{"n", item}).Output(in)
		if !errcode.Has(err, errcode.ExpressionInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", item, err, want)
		}
	}
	if _, err := project.NewSelect([]string{"n", "id AS N"}).Output(in); !errcode.Has(err, errcode.ExpressionInvalid) {
		t.Error("two columns of one name:", err)
	}
	if _, err := project.NewFilter("nope = 1 AND (n = 'x' OR ok = 2)").Output(in); err == nil || strings.Count(err.Error(), "MB4002") != 3 {
		t.Errorf("not all errors at once: %v", err)
	}
	_, err := project.NewSelect([]string{"nope", "n", "n::NOPE"}).Output(in)
	if err == nil || strings.Count(err.Error(), "MB4002") != 2 {
		t.Errorf("not all errors at once: %v", err)
	}
}

func TestAValueThatCannotBeCastEndsTheBatchAndIsNamed(t *testing.T) {
	in := sample(t)
	for item, want := range map[string]string{
		"id::INT":              `MB4003 batch 7: select, expression id::INT: "a" of type STRING is no INT`,
		"big::INT":             `"5000000000" of type BIGINT is no INT`,
		"amount::DECIMAL(3,2)": `"12.34" of type DECIMAL(10,2) is no DECIMAL(3,2)`,
		"raw::STRING":          "of type BINARY is no STRING",
		"CAST(id AS DATE)":     "is no DATE",
	} {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		op := project.NewSelect([]string{item})
		inst, err := op.Open(t.Context(), transforms.Env{Batch: 7, Input: in.Schema, Alloc: mem})
		if err != nil {
			t.Fatal(err)
		}
		var last error
		for c, err := range inst.Apply(t.Context(), records(t, mem, in)) {
			last = err
			c.Release()
		}
		if !errcode.Has(last, errcode.CastFailed) || errcode.ClassOf(last) != errcode.Data || !strings.Contains(last.Error(), want) {
			t.Errorf("%s: %v", item, last)
		}
		mem.AssertSize(t, 0)
	}
}

func records(t *testing.T, mem memory.Allocator, in transformtest.Input) batch.Stream {
	return func(yield func(batch.Chunk, error) bool) {
		for _, text := range in.Chunks {
			rec, _, err := array.RecordFromJSON(mem, in.Schema, strings.NewReader(text))
			if err != nil {
				t.Error(err)
				return
			}
			if !yield(batch.Chunk{Record: rec}, nil) {
				return
			}
		}
	}
}

func TestTextCasts(t *testing.T) {
	for _, c := range []struct{ to, text, want string }{
		{"INT", " 42 ", "42"}, {"INT", "+7", "7"}, {"INT", "1.0", ""}, {"INT", "0x1f", ""}, {"INT", "", ""}, {"TINYINT", "128", ""}, {"BIGINT", "-9223372036854775808", "-9223372036854775808"},
		{"DOUBLE", "1e3", "1000"}, {"DOUBLE", "NaN", "NaN"}, {"DOUBLE", "-Infinity", "-Inf"}, {"DOUBLE", "1_000", ""}, {"DOUBLE", "0x1p-2", ""}, {"FLOAT", "1e39", ""},
		{"BOOLEAN", "TRUE", "true"}, {"BOOLEAN", "0", "false"}, {"BOOLEAN", "maybe", ""},
		{"DECIMAL(5,2)", "1.005", "1.01"}, {"DECIMAL(5,2)", "-1.005", "-1.01"}, {"DECIMAL(5,2)", "1.0049", "1"}, {"DECIMAL(5,2)", "999.99", "999.99"}, {"DECIMAL(5,2)", "999.995", ""}, {"DECIMAL(5,2)", "1e2", "100"},
		{"DECIMAL(5,2)", "123e-3", "0.12"}, {"DECIMAL(5,2)", "0.004", "0"}, {"DECIMAL(5,2)", "0.005", "0.01"}, {"DECIMAL(5,2)", "5e-4", "0"}, {"DECIMAL(5,2)", ".5", "0.5"}, {"DECIMAL(5,2)", "5.", "5"}, {"DECIMAL(5,2)", ".", ""}, {"DECIMAL(5,2)", "1..2", ""}, {"DECIMAL(5,2)", "--1", ""}, {"DECIMAL(5,2)", "1e99999999", ""}, {"DECIMAL(5,2)", "0e9999", "0"},
		{"DECIMAL(38,0)", strings.Repeat("9", 38), strings.Repeat("9", 38)}, {"DECIMAL(38,0)", "1" + strings.Repeat("0", 38), ""}, {"DECIMAL(38,0)", strings.Repeat("9", 38) + ".5", ""}, {"DECIMAL(38,38)", "0." + strings.Repeat("1", 38), "0." + strings.Repeat("1", 38)},
		{"DATE", "2024-02-29", "2024-02-29"}, {"DATE", "2023-02-29", ""}, {"DATE", "2024-2-9", ""}, {"DATE", "2024-02-29x", ""}, {"DATE", "0001-01-01", "0001-01-01"},
		{"TIMESTAMP", "2024-01-02", "2024-01-02T00:00:00Z"}, {"TIMESTAMP", "2024-01-02T03:04:05.1234567Z", "2024-01-02T03:04:05.123456Z"}, {"TIMESTAMP", "2024-01-02 03:04:05-05:30", "2024-01-02T08:34:05Z"}, {"TIMESTAMP", "2024-01-02 03:04+0200", "2024-01-02T01:04:00Z"},
		{"TIMESTAMP", "2024-01-02 25:00", ""}, {"TIMESTAMP", "2024-01-02 03:04:05+", ""}, {"TIMESTAMP", "2024-01-02 03:04:05.", ""}, {"TIMESTAMP", "2024-01-02 03:04:05+25:00", ""}, {"TIMESTAMP_NTZ", "2024-01-02 03:04:05Z", ""},
	} {
		in := transformtest.Input{Schema: ddl(t, "c STRING"), Chunks: []string{fmt.Sprintf(`[{"c": %q}]`, c.text)}}
		rows, _ := transformtest.Rows(t, project.NewSelect([]string{"TRY_CAST(c AS " + c.to + ")"}), in, 1)
		want := "c=" + c.want
		if c.want == "" {
			want = "c=(null)"
		}
		if rows[0] != want {
			t.Errorf("%q as %s: %s, want %s", c.text, c.to, rows[0], want)
		}
	}
}

func BenchmarkFilter(b *testing.B) {
	s, _ := schema.ParseDDL("n BIGINT, s STRING, d DECIMAL(10,2)")
	rb := array.NewRecordBuilder(memory.DefaultAllocator, s)
	for i := range batch.TargetRows {
		rb.Field(0).(*array.Int64Builder).Append(int64(i))
		rb.Field(1).(*array.StringBuilder).Append("some text")
		rb.Field(2).(*array.Decimal128Builder).AppendValueFromString("1.25")
	}
	rec := rb.NewRecordBatch()
	inst, err := project.NewFilter("n > 4000 AND d < 2").Open(b.Context(), transforms.Env{Input: s, Alloc: memory.DefaultAllocator})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		rec.Retain()
		for c := range inst.Apply(b.Context(), func(yield func(batch.Chunk, error) bool) { yield(batch.Chunk{Record: rec}, nil) }) {
			c.Release()
		}
	}
	b.ReportMetric(float64(b.N)*batch.TargetRows/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
