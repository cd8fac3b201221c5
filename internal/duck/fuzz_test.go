//go:build cgo && duckdb_arrow

package duck

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzQuoting: a name and a text that come from data, put into SQL by Ident and Literal, are that name and that text to DuckDB, and nothing else.
func FuzzQuoting(f *testing.F) {
	for _, seed := range []string{`a"; DROP TABLE x; --`, `'; COPY (SELECT 1) TO '/tmp/x'; --`, `\'`, `""`, `''`, "a\nb", "日本", `$$x$$`, `E'\x41'`, "/*", "--", "x\u2028", `?`, `$1`} {
		f.Add(seed, seed)
	}
	s, err := Open(Config{})
	if err != nil {
		f.Fatal(err)
	}
	c, err := s.Connect(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { c.Close(); s.Close() })
	f.Fuzz(func(t *testing.T, name, text string) {
		if name == "" || !utf8.ValidString(name) || !utf8.ValidString(text) || strings.ContainsRune(name+text, 0) {
			return // no name, and no text to a database
		}
		rows, err := c.Query(t.Context(), "SELECT "+Literal(text)+" AS "+Ident(name))
		if err != nil {
			t.Fatalf("%q, %q: %v", name, text, err)
		}
		defer rows.Close()
		if got := rows.Schema().Field(0).Name; got != name {
			t.Fatalf("the name %q is %q", name, got)
		}
		record, err := rows.Next()
		if err != nil || record == nil {
			t.Fatal(err)
		}
		defer record.Release()
		if got := record.Column(0).ValueStr(0); got != text {
			t.Fatalf("the text %q is %q", text, got)
		}
	})
}
