package postgres

import (
	"context"
	"fmt"
	"strings"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/sqlvars"
)

// SQL is the mode in which the user's own statements do what is to be done with a batch, in the transaction that moves the position.
const SQL = "sql"

// statementsTable stands for the table in the position of a sink that runs statements: what they write to is their affair.
const statementsTable = "microbatch_statements"

// batchView is what statements call the staged rows. A temporary name hides others.
const batchView = "batch"

// checkSQL says what is wrong with the statements.
func (c Config) checkSQL() (faults []error) {
	if c.Mode != SQL {
		if len(c.SQL) > 0 {
			faults = append(faults, fmt.Errorf("sql: it is for mode sql"))
		}
		return faults
	}
	if len(c.SQL) == 0 {
		faults = append(faults, fmt.Errorf("sql: mode sql needs at least one statement"))
	}
	for i, text := range c.SQL {
		if _, err := sqlvars.Fill(text, literals(Key{}, 0)); err != nil {
			faults = append(faults, fmt.Errorf("sql: statement %d: %w", i+1, err))
		}
		if verb := sqlvars.EndsTransaction(text); verb != "" {
			faults = append(faults, fmt.Errorf("sql: statement %d: %s is not allowed: the transaction is the sink's, which writes the position in it", i+1, verb))
		}
	}
	return faults
}

// literals are the facts of a batch that statements may name.
func literals(k Key, batch ident.BatchID) map[string]string {
	return map[string]string{"query_id": sqlvars.Text(string(k.Query)), "batch_id": batch.String()}
}

// viewSQL gives the staged rows the names of their columns.
func (w *Work) viewSQL() string {
	var columns []string
	for i, f := range w.Fields {
		columns = append(columns, stageColumn(i)+" AS "+quote(f.Name))
	}
	return "CREATE TEMPORARY VIEW " + batchView + " AS SELECT " + strings.Join(columns, ", ") + " FROM " + stageTable
}

// run runs the statements on the staged rows. The view is gone before the transaction ends.
func (t *transaction) run(ctx context.Context, w *Work, k Key, batch ident.BatchID) error {
	if _, err := t.conn.Exec(ctx, w.viewSQL()); err != nil {
		return t.explain(err, "make the view "+batchView)
	}
	for i, text := range w.SQL {
		filled, err := sqlvars.Fill(text, literals(k, batch))
		if err != nil {
			return err
		}
		// The extended protocol takes one statement: none can hide behind a semicolon.
		if _, err := t.conn.PgConn().ExecParams(ctx, filled, nil, nil, nil, nil).Close(); err != nil {
			return t.statementFailed(err, i)
		}
	}
	_, err := t.conn.Exec(ctx, "DROP VIEW pg_temp."+batchView)
	return t.explain(err, "drop the view "+batchView)
}

// statementFailed is the error of a statement: the user's, unless the server could not do it just now.
func (t *transaction) statementFailed(err error, i int) error {
	what := fmt.Sprintf("statement %d", i+1)
	explained := t.explain(err, what)
	for _, code := range []errcode.Code{errcode.PostgresTable, errcode.PostgresRefused, errcode.PostgresError, errcode.PostgresDenied} {
		if errcode.Has(explained, code) {
			return errcode.ForeachSQL.Wrap(err, t.place, "%s", what)
		}
	}
	return explained
}
