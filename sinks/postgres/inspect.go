package postgres

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

const inspectServer = `SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), pg_is_in_recovery(),
	has_database_privilege(current_database(), 'TEMPORARY'),
	coalesce((SELECT has_schema_privilege(oid, 'CREATE') FROM pg_catalog.pg_namespace WHERE nspname = $1), false)`

const inspectTable = `SELECT c.oid, c.relkind::text, c.relpersistence::text,
	has_table_privilege(c.oid, 'SELECT'), has_table_privilege(c.oid, 'INSERT'), has_table_privilege(c.oid, 'UPDATE'), has_table_privilege(c.oid, 'DELETE')
	FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'p', 'v', 'm', 'f')`

// A column of a domain has the domain's modifier and type.
const inspectColumns = `SELECT a.attnum, a.attname, b.oid, pg_catalog.format_type(a.atttypid, a.atttypmod), pg_catalog.format_type(b.oid, NULL),
	CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END, a.attnotnull OR t.typnotnull, a.atthasdef OR a.attidentity <> '' OR t.typdefault IS NOT NULL,
	a.attgenerated <> '' OR a.attidentity = 'a',
	coalesce((SELECT pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(l.collname) FROM pg_catalog.pg_collation l
		JOIN pg_catalog.pg_namespace n ON n.oid = l.collnamespace WHERE l.oid = a.attcollation AND a.attcollation <> b.typcollation), '')
	FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
	JOIN pg_catalog.pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
	WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`

// Indexes that ON CONFLICT can infer: whole, not deferrable, on columns alone.
const inspectUnique = `SELECT indkey::text, indnkeyatts::int FROM pg_catalog.pg_index
	WHERE indrelid = $1 AND indisunique AND indimmediate AND indisvalid AND indpred IS NULL AND indexprs IS NULL`

// Inspect reads the catalogue.
func (s *session) Inspect(ctx context.Context) (p Place, err error) {
	err = s.on(ctx, "look at the database", func(conn *pgx.Conn) error {
		row := conn.QueryRow(ctx, inspectServer, s.target.Schema)
		if err := row.Scan(&p.Server, &p.Encoding, &p.Standby, &p.MayStage, &p.MayCreate); err != nil {
			return err
		}
		for _, t := range []struct {
			name Name
			into **Table
		}{{s.target, &p.Target}, {s.target.beside(positionsTable), &p.Positions}, {s.target.beside(appliedTable), &p.Applied}} {
			var err error
			if *t.into, err = table(ctx, conn, t.name); err != nil {
				return err
			}
		}
		return nil
	})
	return p, err
}

// table reads a table of the catalogue; nil if there is none.
func table(ctx context.Context, conn *pgx.Conn, name Name) (*Table, error) {
	var t Table
	var oid uint32
	err := conn.QueryRow(ctx, inspectTable, name.Schema, name.Table).Scan(&oid, &t.Kind, &t.Persistence, &t.Select, &t.Insert, &t.Update, &t.Delete)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	byNumber := map[string]string{}
	rows, err := conn.Query(ctx, inspectColumns, oid)
	if err != nil {
		return nil, err
	}
	var number int16
	var c Column
	_, err = pgx.ForEachRow(rows, []any{&number, &c.Name, &c.Type, &c.TypeName, &c.BaseName, &c.Modifier, &c.NotNull, &c.Default, &c.Generated, &c.Collation}, func() error {
		t.Columns = append(t.Columns, c)
		byNumber[strconv.Itoa(int(number))] = c.Name
		return nil
	})
	if err != nil {
		return nil, err
	}
	if rows, err = conn.Query(ctx, inspectUnique, oid); err != nil {
		return nil, err
	}
	var numbers string
	var keys int
	_, err = pgx.ForEachRow(rows, []any{&numbers, &keys}, func() error {
		var names []string
		for _, n := range strings.Fields(numbers)[:keys] { // what an index includes besides stands behind them
			names = append(names, byNumber[n])
		}
		t.Unique = append(t.Unique, names)
		return nil
	})
	return &t, err
}
