package sqlvars

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Fill replaces each $name by the literal of its value. A name that is not known is an error that lists those that are; $1 is left as it is.
func Fill(sql string, literals map[string]string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(sql); {
		n := skipped(sql[i:])
		if n == 0 && sql[i] == '$' {
			name := word(sql[i+1:])
			if name != "" && !isDigit(name[0]) {
				literal, ok := literals[name]
				if !ok {
					return "", fmt.Errorf("$%s is not known; there are $%s", name, strings.Join(slices.Sorted(maps.Keys(literals)), ", $"))
				}
				out.WriteString(literal)
				i += 1 + len(name)
				continue
			}
		}
		n = max(n, 1)
		out.WriteString(sql[i : i+n])
		i += n
	}
	return out.String(), nil
}

// Verb is the word that a statement begins with, in capitals, behind comments and empty statements; "" if it begins with none.
func Verb(sql string) string {
	for {
		sql = strings.TrimLeft(sql, " \t\r\n\f\v;(")
		switch {
		case strings.HasPrefix(sql, "--"), strings.HasPrefix(sql, "/*"):
			sql = sql[skipped(sql):]
		default:
			return strings.ToUpper(word(sql))
		}
	}
}

// EndsTransaction is the first word of a statement, in capitals, if it may begin or end a transaction, and so part rows from what is noted with them; "" for others.
func EndsTransaction(sql string) string {
	switch verb := Verb(sql); verb {
	case "BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "PREPARE":
		return verb
	}
	return ""
}

// Text is a text as an SQL literal.
func Text(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// skipped is the length of what sql begins with and in which no name is looked for; 0 if it begins with something else. What does not end goes to the end.
func skipped(sql string) int {
	switch {
	case sql[0] == '\'' || sql[0] == '"':
		return through(sql, 1, sql[:1])
	case strings.HasPrefix(sql, "--"):
		return through(sql, 2, "\n")
	case strings.HasPrefix(sql, "/*"):
		return through(sql, 2, "*/")
	case sql[0] == '$': // $$ ... $$, $tag$ ... $tag$
		tag := word(sql[1:])
		if end := 1 + len(tag); end < len(sql) && sql[end] == '$' && (tag == "" || !isDigit(tag[0])) {
			return through(sql, end+1, sql[:end+1])
		}
	}
	if n := len(word(sql)); n > 0 { // a$b is one name
		return n
	}
	return 0
}

// through is the length up to the end of the mark that is looked for behind the first bytes.
func through(sql string, from int, mark string) int {
	n := strings.Index(sql[from:], mark)
	if n < 0 {
		return len(sql)
	}
	return from + n + len(mark)
}

// word is the name that s begins with.
func word(s string) string {
	n := 0
	for n < len(s) && (s[n] == '_' || s[n] >= 0x80 || isDigit(s[n]) || s[n]|0x20 >= 'a' && s[n]|0x20 <= 'z') {
		n++
	}
	return s[:n]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
