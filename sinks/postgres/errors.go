package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"microbatch/internal/errcode"
)

// sqlState is the code of an error of the server; "" if it is none.
func sqlState(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// isRetry reports whether an error may go away by itself.
func isRetry(err error) bool { return errcode.ClassOf(err) == errcode.Retry }

// codes are the errors of the server by the beginning of their SQLSTATE, the longest first.
var codes = []struct {
	states string
	code   errcode.Code
}{
	// It ends, it starts, or it has become a standby; a session of ours has been idle in a transaction for too long.
	{"57P01 57P02 57P03 57P05 25P03 25P04 25006", errcode.PostgresUnreachable},
	// Too many connections, a deadlock, a serialization failure, a lock that was not got in time, a cancelled statement, an object in use.
	{"53300 53400 40001 40P01 55P03 55006 57014", errcode.PostgresBusy},
	{"53 58030", errcode.PostgresFull},
	{"42501", errcode.PostgresDenied},
	{"08", errcode.PostgresUnreachable},
	{"28 3D000", errcode.PostgresLogin},
	{"42 3F000 0A000", errcode.PostgresTable},
	// Constraints, values, a view's check, and what a trigger of the user's raises.
	{"23 22 21 44 P0001", errcode.PostgresRefused},
}

// explain gives an error its code. What the server says about the values of a row (its detail) is left out.
func (s *session) explain(err error, what string) error {
	if err == nil {
		return nil
	}
	if _, coded := errors.AsType[*errcode.Error](err); coded || errors.Is(err, context.Canceled) || errors.Is(err, errAlready) {
		return err
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return codeOf(e.Code).Wrap(err, s.place, "%s", what+subject(e))
	}
	if untrusted(err) {
		return errcode.PostgresLogin.Wrap(err, s.place, "%s", what)
	}
	return errcode.PostgresUnreachable.Wrap(err, s.place, "%s", what)
}

func codeOf(state string) errcode.Code {
	for _, c := range codes {
		for prefix := range strings.FieldsSeq(c.states) {
			if strings.HasPrefix(state, prefix) {
				return c.code
			}
		}
	}
	return errcode.PostgresError
}

// subject is what an error is about.
func subject(e *pgconn.PgError) (text string) {
	for _, part := range []struct{ kind, name string }{{"table", e.TableName}, {"column", e.ColumnName}, {"constraint", e.ConstraintName}} {
		if part.name != "" {
			text += ", " + part.kind + " " + part.name
		}
	}
	return text
}

// untrusted reports whether the server's certificate is refused, or encryption is wanted and the server has none.
func untrusted(err error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	return certificate || strings.Contains(err.Error(), "server refused TLS connection")
}
