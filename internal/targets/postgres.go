package targets

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"microbatch/checker"
	"microbatch/internal/errcode"
	"microbatch/internal/secret"
)

// Postgres is a database that a query writes to.
type Postgres struct {
	unread
	URL      string
	Password secret.Secret // none: what libpq would take
	Table    string        // table or schema.table; a part with a dot stands in double quotes
	Shard    string        // "" unless the query is split
}

// Position reads the query's row of microbatch_positions.
func (p Postgres) Position(ctx context.Context, query string) (checker.Position, error) {
	config, err := pgx.ParseConfig(p.URL)
	if err != nil {
		return nowhere, fmt.Errorf("url: %w", err) // pgx leaves the password out
	}
	if !p.Password.IsZero() {
		config.Password = p.Password.Expose()
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	place := fmt.Sprintf("PostgreSQL %s:%d/%s, table %s", config.Host, config.Port, config.Database, p.Table)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nowhere, explain(err, place, "connect")
	}
	defer conn.Close(context.WithoutCancel(ctx))
	names := parts(p.Table)
	at := checker.Position{Keeps: true}
	table := append(names[:len(names)-1:len(names)-1], "microbatch_positions")
	err = conn.QueryRow(ctx, "SELECT batch, digest, epoch, entry FROM "+pgx.Identifier(table).Sanitize()+" WHERE target = $1 AND query = $2 AND shard = $3",
		names[len(names)-1], query, p.Shard).Scan(&at.Batch, &at.Digest, &at.Epoch, &at.Entry)
	const noTable, noSchema = "42P01", "3F000"
	var refused *pgconn.PgError
	switch {
	case errors.Is(err, pgx.ErrNoRows), errors.As(err, &refused) && (refused.Code == noTable || refused.Code == noSchema):
		return nowhere, nil
	case err != nil:
		return nowhere, explain(err, place, "read microbatch_positions")
	}
	return at, nil
}

// parts are schema and table, or the table alone: they stand for themselves, or in double quotes.
func parts(name string) (out []string) {
	for part := ""; name != ""; {
		if quoted, ok := strings.CutPrefix(name, `"`); ok {
			end := strings.Index(strings.ReplaceAll(quoted, `""`, "\x00\x00"), `"`)
			if end < 0 {
				end = len(quoted)
			}
			part, name = strings.ReplaceAll(quoted[:end], `""`, `"`), quoted[min(end+1, len(quoted)):]
			name = strings.TrimPrefix(name, ".")
		} else {
			part, name, _ = strings.Cut(name, ".")
		}
		out = append(out, part)
	}
	return out
}

func explain(err error, place, what string) error {
	var refused *pgconn.PgError
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case !errors.As(err, &refused):
		return errcode.PostgresUnreachable.Wrap(err, place, "%s", what)
	case refused.Code == "42501":
		return errcode.PostgresDenied.Wrap(err, place, "%s", what)
	case strings.HasPrefix(refused.Code, "28"), refused.Code == "3D000":
		return errcode.PostgresLogin.Wrap(err, place, "%s", what)
	case strings.HasPrefix(refused.Code, "57P"), strings.HasPrefix(refused.Code, "53"):
		return errcode.PostgresUnreachable.Wrap(err, place, "%s", what)
	}
	return errcode.PostgresError.Wrap(err, place, "%s", what)
}
