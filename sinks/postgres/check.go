package postgres

import (
	"fmt"
	"strings"

	"microbatch/internal/errcode"
)

// oldest is the oldest server that is tried: before it ON CONFLICT did not work on partitioned tables, and nobody mends it any more.
const oldest = 120000

// checkPlace says what is wrong with the database, all at once: what the rows have nothing to do with.
func (c Config) checkPlace(p Place) error {
	var faults []string
	wrong := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if p.Server < oldest {
		wrong("the server is PostgreSQL %d; want %d or newer", p.Server/10000, oldest/10000)
	}
	if p.Encoding != "UTF8" {
		wrong("the database's encoding is %s, which cannot hold every text; want UTF8", p.Encoding)
	}
	if p.Standby {
		wrong("the server is a standby that only reads; connect to the primary (target_session_attrs=read-write in the URL)")
	}
	if len(faults) > 0 {
		return errcode.PostgresTable.New(c.Table, "%s", strings.Join(faults, "; "))
	}
	if t := p.Target; t != nil && c.Mode != SQL {
		if t.Kind != "r" && t.Kind != "p" {
			wrong("it is no table; rows of a view or of a foreign table are not part of the transaction")
		}
		if t.Persistence != "p" {
			wrong("it is not a permanent table: after a crash of the server it is empty, and the position would say that the rows are there")
		}
	}
	if len(faults) > 0 {
		return errcode.PostgresTable.New(c.Table, "%s", strings.Join(faults, "; "))
	}
	return c.checkRights(p)
}

// checkRights says which rights are missing.
func (c Config) checkRights(p Place) error {
	var missing []string
	want := func(has bool, what string) {
		if !has {
			missing = append(missing, what)
		}
	}
	want(p.MayStage, "TEMPORARY on the database")
	own := []struct {
		table *Table
		name  string
		need  bool
	}{{p.Target, c.Table, c.Mode != SQL}, {p.Positions, positionsTable, true}, {p.Applied, appliedTable, c.Mode == Ledger}}
	for _, o := range own {
		switch {
		case !o.need || o.table != nil:
		case c.CreateOff:
			return errcode.PostgresTable.New(o.name, "it does not exist, and create: off says not to make it")
		default:
			want(p.MayCreate, "CREATE on the schema, for the table "+o.name)
		}
	}
	if t := p.Target; t != nil && c.Mode != SQL {
		want(t.Insert, "INSERT on "+c.Table)
		want(c.Mode != Upsert || t.Select && t.Update, "SELECT and UPDATE on "+c.Table)
		want(c.OperationColumn == "" || t.Delete, "DELETE on "+c.Table)
	}
	if t := p.Positions; t != nil {
		want(t.Select && t.Insert && t.Update, "SELECT, INSERT and UPDATE on "+positionsTable)
	}
	if t := p.Applied; t != nil && c.Mode == Ledger {
		want(t.Select && t.Insert, "SELECT and INSERT on "+appliedTable)
	}
	if len(missing) > 0 {
		return errcode.PostgresDenied.New(c.Table, "the user lacks %s", strings.Join(missing, "; "))
	}
	return nil
}
