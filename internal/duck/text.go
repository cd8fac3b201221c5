package duck

import "strings"

// Ident is a name as a quoted identifier.
func Ident(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Literal is a text as a string literal.
func Literal(text string) string { return `'` + strings.ReplaceAll(text, `'`, `''`) + `'` }
