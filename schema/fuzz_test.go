package schema

import (
	"strings"
	"testing"
)

// FuzzParseDDL: a text is an error, or a schema whose own text is read as the same schema.
func FuzzParseDDL(f *testing.F) {
	for _, seed := range []string{
		"order_id STRING NOT NULL, amount DECIMAL(10,2), tags ARRAY<STRING>, m MAP<STRING,INT>, s STRUCT<a: INT, b: STRING> COMMENT 'x''y'",
		"`a``b` INT, `..` STRING, `\x00` DATE", "a DECIMAL(99999999999,2)", "a ARRAY<" + strings.Repeat("ARRAY<", 40), "a INT COMMENT 'x\\'y'", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseDDL(text)
		if err != nil {
			return
		}
		again, err := ParseDDL(FormatDDL(s))
		if err != nil || !again.Equal(s) {
			t.Errorf("%q gives %q, which gives %v, %v", text, FormatDDL(s), again, err)
		}
	})
}

// FuzzFromDelta: a schemaString of a log is an error, or a schema that is written as one that is read as the same.
func FuzzFromDelta(f *testing.F) {
	for _, seed := range []string{
		`{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},{"name":"l","type":{"type":"array","elementType":"decimal(10,2)","containsNull":false},"nullable":false,"metadata":{"a":[1e400]}}]}`,
		`{"type":"struct","fields":[{"name":"m","type":{"type":"map","keyType":"string","valueType":{"type":"struct","fields":[]},"valueContainsNull":true},"nullable":true,"metadata":{"delta.columnMapping.id":1}}]}`,
		`{"type":"struct","fields":[{"name":"a","type":"decimal(99,-1)"}]}`, strings.Repeat(`{"type":"array","elementType":`, 100), `{"type":"struct","fields":null}`, `{"type":"struct","fields":[{"name":"a","type":"varchar(10)"}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := FromDelta(text)
		if err != nil {
			return
		}
		own, err := ToDelta(s)
		if err != nil {
			return // a type or name that no table of ours has
		}
		again, err := FromDelta(own)
		if err != nil || !again.Equal(s) {
			t.Errorf("%q gives %q, which gives %v, %v", text, own, again, err)
		}
		_ = CheckNames(s)
	})
}
