package project_test

import (
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/internal/errcode"
	"microbatch/schema"
	"microbatch/transforms"
	"microbatch/transforms/project"
	"microbatch/transforms/transformtest"
)

// FuzzExpressions runs whatever parses: a wrong expression is an error with our code, never a panic, and what is bound runs on odd rows without a leak.
func FuzzExpressions(f *testing.F) {
	for _, seed := range []string{
		"n < 1.5 AND NOT (id = 'a' OR ts IS NULL)", "amount IN (1, 2.5, -1e3)", "CAST(id AS DECIMAL(5,2)) > .5", "who.at.city = 'Bonn'", "* EXCEPT (n, `big`)",
		"ts::DATE AS d", "TRY_CAST(raw AS STRING)", "DATE '2024-01-01' AS x", "small >= 99999999999999999999", "((((ok))))", "id::BINARY::STRING::TIMESTAMP AS t",
	} {
		f.Add(seed)
	}
	s, err := schema.ParseDDL("id STRING, n INT, small TINYINT, big BIGINT, amount DECIMAL(10,2), f DOUBLE, g FLOAT, ok BOOLEAN, d DATE, ts TIMESTAMP, " +
		"local TIMESTAMP_NTZ, raw BINARY, tags ARRAY<STRING>, who STRUCT<name: STRING, at: STRUCT<city: STRING>>")
	if err != nil {
		f.Fatal(err)
	}
	in := transformtest.Input{Schema: s, Chunks: []string{
		`[{"id": "12.5", "n": -1, "small": 127, "big": 9223372036854775807, "amount": "99999999.99", "f": 1e300, "g": 0.1, "ok": true, "d": "0001-01-01", "ts": "2024-02-29 23:30:00Z",
		   "local": "1960-01-01 00:00:00", "raw": "/w==", "tags": ["x"], "who": {"name": "A", "at": null}}, {}]`,
	}}
	f.Fuzz(func(t *testing.T, expression string) {
		for _, op := range []transforms.Operator{project.NewFilter(expression), project.NewSelect([]string{expression})} {
			if _, err := op.Output(s); err != nil {
				if !errcode.Has(err, errcode.ExpressionInvalid) {
					t.Fatalf("%q: %v", expression, err)
				}
				continue
			}
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			inst, err := op.Open(t.Context(), transforms.Env{Input: s, Alloc: mem})
			if err != nil {
				t.Fatal(err)
			}
			for c, err := range inst.Apply(t.Context(), records(t, mem, in)) {
				if _, coded := errors.AsType[*errcode.Error](err); err != nil && !coded {
					t.Fatalf("%q: %v", expression, err)
				}
				c.Release()
			}
			mem.AssertSize(t, 0)
		}
	})
}
