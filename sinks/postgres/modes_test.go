//go:build services

package postgres

import (
	"slices"
	"strings"
	"testing"

	"microbatch/batch"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/sinks"
	"microbatch/sinks/sinktest"
)

// table is all rows of the target, in order.
func (p *place) table() string {
	p.t.Helper()
	return p.text("SELECT coalesce(string_agg(whole::text, ' ' ORDER BY whole::text), '') FROM " + quote(p.config.Table) + " whole")
}

// The highest row of a key in the order counts, in whatever order and parts the rows come; later batches go over earlier ones.
func TestUpsertTakesTheHighestRowOfEachKey(t *testing.T) {
	p := newPlace(t, Config{Mode: Upsert, Keys: []string{"id", "k"}, OrderBy: []string{"n"}, OperationColumn: "op"})
	rows := ddl(t, "id BIGINT, k STRING, v STRING, n INT, op STRING")
	s := p.start(rows)
	steps := []struct {
		lines string
		want  string
	}{
		{`{"id":1,"k":"a","v":"old","n":1}
{"id":1,"k":"b","v":"only","n":1}
{"id":1,"k":"a","v":"new","n":3}
{"id":1,"k":"a","v":"null is lowest"}
{"id":1,"k":"a","v":"middle","n":2}`, "(1,a,new,3) (1,b,only,1)"},
		// A row comes and is deleted; another is deleted and comes back; one that was never there is deleted; equal rows are one.
		{`{"id":2,"k":"a","v":"here","n":1}
{"id":2,"k":"a","n":2,"op":"DELETE"}
{"id":1,"k":"a","n":5,"op":"d"}
{"id":1,"k":"a","v":"back","n":6,"op":"insert"}
{"id":9,"k":"z","n":1,"op":"d"}
{"id":3,"k":"c","v":"twice","n":1}
{"id":3,"k":"c","v":"twice","n":1}`, "(1,a,back,6) (1,b,only,1) (3,c,twice,1)"},
		// An order that is lower than that of the table does not matter: batches follow each other.
		{`{"id":1,"k":"b","v":"later","n":0}
{"id":3,"k":"c","n":0,"op":"d"}`, "(1,a,back,6) (1,b,later,0)"},
	}
	for id, step := range steps {
		lines := strings.Split(step.lines, "\n")
		slices.Reverse(lines)
		half := len(lines) / 2
		put(t, s, rows, ident.BatchID(id), strings.Join(lines[:half], "\n"), strings.Join(lines[half:], "\n"))
		if got := p.table(); got != step.want {
			t.Errorf("batch %d: the table holds %s, want %s", id, got, step.want)
		}
	}
}

// Without an order, or where it is equal, rows of one key that differ stop the batch before anything of it is visible.
func TestRowsOfOneKeyWithoutAnOrderStopTheBatch(t *testing.T) {
	for _, mode := range []string{Upsert, Ledger} {
		for _, order := range [][]string{nil, {"n"}} {
			p := newPlace(t, Config{Mode: mode, Keys: []string{"id"}, OrderBy: order})
			rows := ddl(t, "id STRING, n INT, v STRING")
			s := p.start(rows)
			_, _, err := stage(t, s, rows, 0, nil, `{"id":"x","n":1,"v":"a"}`, `{"id":"x","n":1,"v":"b"}`)
			if !errcode.Has(err, errcode.TableNoOrder) || !strings.Contains(err.Error(), "rows of the key x differ") {
				t.Errorf("%s by %v: %v", mode, order, err)
			}
			put(t, s, rows, 0, `{"id":"x","n":1,"v":"a"}`, `{"id":"x","n":1,"v":"a"}`)
			if got := p.table(); got != "(x,1,a)" {
				t.Errorf("%s by %v: the table holds %s", mode, order, got)
			}
		}
	}
}

// An event is applied once: in its batch, in later batches, and by other queries; also when its row was deleted since.
func TestLedgerAppliesAnEventOnce(t *testing.T) {
	p := newPlace(t, Config{Mode: Ledger, Keys: []string{"event"}, OrderBy: []string{"n"}})
	rows := ddl(t, "event STRING, n INT")
	s := p.start(rows)
	p.exec("CREATE TABLE applications (event text)",
		"CREATE FUNCTION apply() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO applications VALUES (NEW.event); RETURN NEW; END $$",
		"CREATE TRIGGER apply BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION apply()")
	put(t, s, rows, 0, "{\"event\":\"a\",\"n\":2}\n{\"event\":\"a\",\"n\":1}\n{\"event\":\"b\",\"n\":1}")
	p.exec("DELETE FROM orders WHERE event = 'b'")
	var rejected []batch.Rejected
	_, staged, err := stage(t, s, rows, 1, &rejected, "{\"event\":\"b\",\"n\":7}\n{\"event\":\"c\",\"n\":1}")
	must(t, err)
	_, err = s.Commit(t.Context(), staged)
	must(t, err)
	if c := staged.Staged().Changes; c == nil || *c != (sinks.Changes{Inserted: 1, Unchanged: 1}) {
		t.Errorf("the batch has done %+v", c)
	}
	other := p.open(t)
	defer other.Close()
	must(t, other.Check(t.Context(), rows))
	must(t, other.Recover(t.Context(), sinktest.Query("another", 1), nil))
	put(t, other, rows, 0, "{\"event\":\"c\",\"n\":9}\n{\"event\":\"d\",\"n\":1}")
	if got := p.table(); got != "(a,1) (c,1) (d,1)" {
		t.Errorf("the table holds %s", got)
	}
	if got := p.text("SELECT string_agg(event, '' ORDER BY event) FROM applications"); got != "abcd" {
		t.Errorf("the trigger saw %s", got)
	}
}

// A name is a name, whatever is in it.
func TestHostileNames(t *testing.T) {
	const schema, table = `s"; DROP TABLE orders; --`, `t.'$1 %s \`
	p := newPlace(t, Config{Table: `"s""; DROP TABLE orders; --"."t.'$1 %s \"`, Mode: Upsert, Keys: []string{`k"1`}, OperationColumn: "o p", DeleteValues: []string{`'); --`}})
	p.exec("CREATE TABLE orders ()", "CREATE SCHEMA "+quote(schema))
	rows := ddl(t, "`k\"1` BIGINT, `v'; --` STRING, `EXCLUDED` STRING, `t` INT, `o p` STRING")
	s := p.start(rows)
	put(t, s, rows, 0, `{"k\"1":1,"v'; --":"'); DROP TABLE orders; --","EXCLUDED":"\\","t":1}
{"k\"1":2,"o p":"x"}`)
	put(t, s, rows, 1, `{"k\"1":1,"v'; --":"$$","t":2}
{"k\"1":2,"o p":"'); --"}`)
	p.config.Table = table
	if got := p.text("SELECT string_agg(whole::text, ' ') FROM " + Name{schema, table}.String() + " whole"); got != "(1,$$,,2)" {
		t.Errorf("the table holds %s", got)
	}
	p.exec("SELECT FROM orders")
}

// Keys are equal as the table's index has them equal.
func TestKeysAreComparedAsTheTableDoes(t *testing.T) {
	p := newPlace(t, Config{Mode: Upsert, Keys: []string{"id"}, OrderBy: []string{"n"}})
	p.exec(`CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`, `CREATE TABLE orders (id text COLLATE blind PRIMARY KEY, n int)`)
	rows := ddl(t, "id STRING, n INT")
	s := p.start(rows)
	put(t, s, rows, 0, `{"id":"a","n":1}
{"id":"A","n":2}`)
	if got := p.table(); got != "(A,2)" {
		t.Errorf("the table holds %s", got)
	}
}
