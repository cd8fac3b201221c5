package postgres

import (
	"strconv"
	"strings"

	"microbatch/ident"
)

// The sink's own tables, in the target's schema.
const (
	positionsTable = "microbatch_positions"
	appliedTable   = "microbatch_applied"
)

// stageTable is the temporary table of a connection. Its columns have numbers for names: what the rows' columns are called does not matter there.
const stageTable = "pg_temp.microbatch_stage"

func stageColumn(i int) string { return "c" + strconv.Itoa(i) }

// positionsSQL makes the table of positions.
func positionsSQL(name Name) string {
	return `CREATE TABLE IF NOT EXISTS ` + name.String() + ` (
	target text NOT NULL, query text NOT NULL, shard text NOT NULL, pipeline text NOT NULL,
	epoch bigint NOT NULL, batch bigint NOT NULL, digest text NOT NULL, entry text NOT NULL, offsets text NOT NULL, rows bigint NOT NULL,
	written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (target, query, shard))`
}

// appliedSQL makes the table of applied events.
func appliedSQL(name Name) string {
	return `CREATE TABLE IF NOT EXISTS ` + name.String() + ` (
	target text NOT NULL, event_id text NOT NULL, query text NOT NULL, batch bigint NOT NULL,
	PRIMARY KEY (target, event_id))`
}

// stageSQL makes the stage.
func (w *Work) stageSQL() string {
	var columns []string
	for i, f := range w.Fields {
		columns = append(columns, stageColumn(i)+" "+f.sent.name)
	}
	return "CREATE TEMPORARY TABLE microbatch_stage (" + strings.Join(columns, ", ") + ")"
}

// parts are the pieces of which the statements are made.
type parts struct {
	columns, values []string // of the target, and what they get
	keys, by        []string // of them the key's
	key             string   // the key's values as a list
	order           string   // what decides between rows of one key: the first one counts
	operation       string   // SQL of the operation; "" if there is none
}

func (w *Work) parts() (p parts) {
	for i, f := range w.Fields {
		if f.Operation {
			p.operation = "lower(s." + stageColumn(i) + ")"
			continue
		}
		p.columns, p.values = append(p.columns, f.Target), append(p.values, f.value)
		if f.Key {
			p.keys, p.by = append(p.keys, f.Target), append(p.by, f.value)
		}
	}
	p.key = strings.Join(p.by, ", ")
	direction := " ASC NULLS FIRST"
	if w.Mode == Upsert {
		direction = " DESC NULLS LAST"
	}
	var order []string
	for _, i := range w.Order {
		column := "s." + stageColumn(i)
		if w.Fields[i].sent.oid == oidText {
			column += ` COLLATE "C"`
		}
		order = append(order, column+direction)
	}
	p.order = strings.Join(order, ", ")
	return p
}

// first takes one row of each key: the first one in the order.
func (p parts) first() string {
	order := p.key
	if p.order != "" {
		order += ", " + p.order
	}
	return "SELECT DISTINCT ON (" + p.key + ") s.* FROM " + stageTable + " s ORDER BY " + order
}

// tiesSQL finds a key with rows that differ although nothing says which counts; rows that are equal are one. There is no row without such a key.
func (w *Work) tiesSQL() string {
	p := w.parts()
	over := "PARTITION BY " + p.key
	if p.order != "" {
		over += " ORDER BY " + p.order
	}
	var names, keys []string
	for i, by := range p.by {
		names = append(names, "k"+strconv.Itoa(i))
		keys = append(keys, by+" AS "+names[i])
	}
	key := strings.Join(names, ", ")
	return "WITH many AS (SELECT FROM " + stageTable + " s GROUP BY " + p.key + " HAVING count(*) > 1 LIMIT 1)" +
		" SELECT concat_ws(', ', " + key + ") FROM (SELECT s AS whole, " + strings.Join(keys, ", ") + ", rank() OVER (" + over + ") AS place FROM " + stageTable + " s" +
		" WHERE EXISTS (SELECT FROM many)) r WHERE place = 1 GROUP BY " + key + " HAVING count(DISTINCT whole) > 1 LIMIT 1"
}

// applySQL is the statement that applies the stage, and its parameters.
func (w *Work) applySQL(target Name, k Key, batch ident.BatchID) (sql string, args []any) {
	p := w.parts()
	insert := "INSERT INTO " + target.String() + " (" + quoteAll(p.columns) + ") SELECT " + strings.Join(p.values, ", ")
	switch w.Mode {
	case Upsert:
		return w.upsertSQL(p, target, insert)
	case Ledger: // the keys that are new are remembered, and a row of each is inserted
		return "WITH fresh AS (INSERT INTO " + target.beside(appliedTable).String() + " (target, event_id, query, batch)" +
			" SELECT DISTINCT $1::text, (" + p.key + ")::text, $2::text, $3::bigint FROM " + stageTable + " s ORDER BY 2" +
			" ON CONFLICT DO NOTHING RETURNING event_id) " +
			insert + " FROM (" + p.first() + ") s JOIN fresh ON fresh.event_id = (" + p.key + ")::text", []any{target.Table, string(k.Query), int64(batch)}
	}
	return insert + " FROM " + stageTable + " s", nil
}

// upsertSQL takes one row of each key. Deletions and insertions are one statement on one snapshot, and no key is in both.
func (w *Work) upsertSQL(p parts, target Name, insert string) (sql string, args []any) {
	conflict := " ON CONFLICT (" + quoteAll(p.keys) + ") DO NOTHING"
	if set := assignments(p.columns, p.keys); set != "" {
		conflict = " ON CONFLICT (" + quoteAll(p.keys) + ") DO UPDATE SET " + set
	}
	if p.operation == "" {
		return insert + " FROM (" + p.first() + ") s" + conflict, nil
	}
	var same []string
	for i, k := range p.keys {
		same = append(same, "t."+quote(k)+" = "+p.by[i])
	}
	deletes := make([]string, len(w.Deletes))
	for i, d := range w.Deletes {
		deletes[i] = strings.ToLower(d)
	}
	return "WITH last AS MATERIALIZED (" + p.first() + ")," +
		" gone AS (DELETE FROM " + target.String() + " t USING last s WHERE " + p.operation + " = ANY($1::text[]) AND " + strings.Join(same, " AND ") + ") " +
		insert + " FROM last s WHERE " + p.operation + " IS NULL OR " + p.operation + " <> ALL($1::text[])" + conflict, []any{deletes}
}

// assignments sets all columns but the keys to the new row's values.
func assignments(columns, keys []string) string {
	isKey := map[string]bool{}
	for _, k := range keys {
		isKey[k] = true
	}
	var set []string
	for _, c := range columns {
		if !isKey[c] {
			set = append(set, quote(c)+" = EXCLUDED."+quote(c))
		}
	}
	return strings.Join(set, ", ")
}
