//go:build services

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestInteropUpsertsAmongOtherWriters has the program put rows into a table by their keys, and Spark and deltalake append to it, update, merge into and delete from it,
// with deletion vectors too, and join its files, always between two batches. After each batch Spark, deltalake and DuckDB find the rows that should be there.
func TestInteropUpsertsAmongOtherWriters(t *testing.T) {
	s := newShared(t)
	text := func(v string) *string { return &v }
	// change drops a file of changes: "d" takes the key out, all else puts a row in.
	change := func(changes map[int]string) {
		t.Helper()
		var lines strings.Builder
		for id, v := range changes {
			day := "a b/" + fmt.Sprint((id+len(v))%3) // some rows move to another partition
			op := "u"
			if v == "d" {
				op = "d"
				delete(s.rows, id)
			} else {
				s.rows[id] = row{text(fmt.Sprint(id)), &day, text(v), text(fmt.Sprintf("%d.25", id))}
				s.next = max(s.next, id+1)
			}
			fmt.Fprintf(&lines, `{"id": %d, "day": %q, "v": "an older one", "amount": 1, "op": "u"}`+"\n", id, day)
			fmt.Fprintf(&lines, `{"id": %d, "day": %q, "v": %q, "amount": %d.25, "op": %q}`+"\n", id, day, v, id, op)
		}
		name := fmt.Sprintf("in/%s.ndjson", time.Now().Format("150405.000000000"))
		from := write(t, s.dir, name+".tmp", lines.String())
		if err := os.Rename(from, filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s.file()
	query := start(t, nil, write(t, s.dir, "microbatch.yaml", `
name: shared
source:
  files: {path: in}
  format: json
  schema: `+sharedDDL+`, op STRING
sink:
  table:
    path: table
    format: delta
    partition_by: [day]
    mode: upsert
    keys: [id]
    operation_column: op
trigger: {every: 0s, max_files: 1}
`))
	batch := func(what string) {
		t.Helper()
		if !query.batch(2 * time.Minute) {
			t.Fatalf("%s: the query has ended:\n%s", what, query.stderr.String())
		}
		s.check("a batch after " + what)
	}
	batch("nothing")

	change(map[int]string{3: "new", 4: "d", 5: "moved", 99: "d", 11: "inserted"})
	batch("a first batch")

	s.next = 20
	s.python("spark_append", s.fresh(5, "spark"))
	s.python("deltalake_append", s.fresh(5, "deltalake"))
	change(map[int]string{20: "over Spark's", 26: "over deltalake's", 21: "d", 27: "d", 4: "again"})
	batch("appends by Spark and deltalake")

	s.python("sql", "OPTIMIZE THIS", "UPDATE THIS SET v = 'changed' WHERE id = 22",
		"MERGE INTO THIS t USING (SELECT 23 AS id) n ON t.id = n.id WHEN MATCHED THEN DELETE")
	s.rows[22][2] = text("changed")
	delete(s.rows, 23)
	change(map[int]string{22: "changed again", 23: "back", 0: "d", 1: "joined"})
	batch("OPTIMIZE, UPDATE and MERGE by Spark")

	s.python("sql", "ALTER TABLE THIS SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')", "DELETE FROM THIS WHERE id IN (24, 2, 6)")
	for _, id := range []int{24, 2, 6} {
		delete(s.rows, id)
	}
	change(map[int]string{24: "back", 25: "beside deleted rows", 7: "beside too", 8: "d"})
	batch("a DELETE with deletion vectors")
	if err := query.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	query.wait(time.Minute)

	// Where changes are to be recorded row by row, or rows may never go, the query stops by name.
	for property, code := range map[string]string{"delta.enableChangeDataFeed": "MB1202", "delta.appendOnly": "MB1227"} {
		s.python("sql", "ALTER TABLE THIS SET TBLPROPERTIES ('"+property+"' = 'true')")
		stopped := start(t, nil, filepath.Join(s.dir, "microbatch.yaml"), "--once")
		if exit, said := stopped.exit(), stopped.stderr.String(); exit != 2 || !strings.Contains(said, code) || !strings.Contains(said, property) {
			t.Errorf("a table with %s: exit %d, want 2 and its name:\n%s", property, exit, said)
		}
		s.python("sql", "ALTER TABLE THIS UNSET TBLPROPERTIES ('"+property+"')")
	}
	s.check("two refused starts")
}
