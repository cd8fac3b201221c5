//go:build cgo && duckdb_arrow

package duck

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// numbered is a list of n files, file i with the one row i, in a session that may read them.
func numbered(t *testing.T, n int, alike bool) (*Conn, *List) {
	c := open(t, Config{Files: true})
	dir := t.TempDir()
	paths := make([]string, n)
	for i := range paths {
		paths[i] = filepath.Join(dir, fmt.Sprintf("%d.parquet", i))
		if err := c.Exec(t.Context(), fmt.Sprintf("COPY (SELECT %d AS i) TO %s", i, Literal(paths[i]))); err != nil {
			t.Fatal(err)
		}
	}
	l := c.List(paths, alike)
	t.Cleanup(l.Drop)
	return c, l
}

// Whatever a statement does with a list, it is run on all of it.
func TestAListIsWholeInWhateverRuns(t *testing.T) {
	for _, alike := range []bool{false, true} {
		c, l := numbered(t, 5, alike)
		file := filepath.Join(t.TempDir(), "copy.parquet")
		for _, s := range []struct{ before, sql, want string }{
			{"", "SELECT sum(i)::TEXT FROM read_parquet(LIST)", "10"},
			{"", "SELECT (a.n * b.n)::TEXT FROM (SELECT count(*) n FROM read_parquet(LIST)) a, (SELECT count(*) n FROM read_parquet(LIST)) b", "25"},
			{"", "SELECT len(LIST)::TEXT", "5"}, // not bound again
			{"", "SELECT list_sum(list_transform(LIST, lambda x: length(x)))::TEXT || count(*) FROM read_parquet(LIST)", fmt.Sprint(5*len(l.texts[0]), "5")},
			{"CREATE VIEW v AS FROM read_parquet(LIST)", "SELECT sum(i)::TEXT FROM v", "10"},
			{"CREATE TABLE t AS FROM read_parquet(LIST)", "SELECT sum(i)::TEXT FROM t", "10"},
			{"CREATE TABLE u AS SELECT len(LIST) AS n", "SELECT n::TEXT FROM u", "5"},
			{"INSERT INTO t FROM read_parquet(LIST)", "SELECT sum(i)::TEXT FROM t", "20"},
			{"COPY (FROM read_parquet(LIST)) TO " + Literal(file), "SELECT sum(i)::TEXT FROM " + Literal(file), "10"},
			{"PREPARE p AS SELECT sum(i)::TEXT FROM read_parquet(LIST)", "EXECUTE p", "10"},
			{"PREPARE q AS SELECT len(LIST)::TEXT", "EXECUTE q", "5"},
			{"CREATE MACRO m() AS TABLE SELECT sum(i)::TEXT FROM read_parquet(LIST)", "FROM m()", "10"},
		} {
			if s.before != "" {
				if err := c.Exec(t.Context(), strings.ReplaceAll(s.before, "LIST", l.SQL())); err != nil {
					t.Fatalf("%s: %v", s.before, err)
				}
			}
			for range 2 {
				got, err := c.Text(t.Context(), strings.ReplaceAll(s.sql, "LIST", l.SQL()))
				if err != nil || got != s.want {
					t.Errorf("alike %v: %s: %q %v, want %q", alike, s.sql, got, err, s.want)
				}
			}
		}
	}
}

// A list that changes is another one in the next statement, also where a view names it.
func TestAListMayChange(t *testing.T) {
	c, l := numbered(t, 3, true)
	whole := l.texts
	l.Set(whole[:1])
	if err := c.Exec(t.Context(), "CREATE TEMP VIEW v AS FROM read_parquet("+l.SQL()+")"); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 3; n++ {
		l.Set(whole[:n])
		if got, err := c.Text(t.Context(), "SELECT count(*)::TEXT FROM v"); err != nil || got != fmt.Sprint(n) {
			t.Errorf("%d files: %q %v", n, got, err)
		}
	}
}

// While a statement is only prepared, the first text stands for all that are alike.
func TestPreparingLooksAtOneFile(t *testing.T) {
	c, l := numbered(t, 2, true)
	l.Set([]string{l.texts[0], "/there/is/none.parquet"})
	if _, err := c.Describe(t.Context(), "FROM read_parquet("+l.SQL()+")"); err == nil {
		t.Error("a statement that is described has all files")
	}
	stmt, err := c.prepareShort("FROM read_parquet(" + l.SQL() + ")")
	if err != nil || !c.short() {
		t.Errorf("%v, short %v", err, c.short())
	}
	mapping.DestroyPrepare(&stmt)
	if _, err := c.Text(t.Context(), "SELECT count(*)::TEXT FROM read_parquet("+l.SQL()+")"); err == nil || !strings.Contains(err.Error(), "none.parquet") {
		t.Errorf("%v", err)
	}
}

// What names no list is an error of the statement.
func TestAHandleOfNoList(t *testing.T) {
	c := open(t, Config{Files: true})
	if _, err := c.Text(t.Context(), "SELECT len("+listFunction+"(123456789))::TEXT"); err == nil {
		t.Error("no error")
	}
	if got, err := c.Text(t.Context(), "SELECT 'still there'"); err != nil || got != "still there" {
		t.Error(got, err)
	}
	closed := open(t, Config{})
	if _, err := closed.Text(t.Context(), "SELECT len("+listFunction+"(1))::TEXT"); err == nil {
		t.Error("a session without files has lists")
	}
}
