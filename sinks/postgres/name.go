package postgres

import (
	"errors"
	"fmt"
	"strings"
)

// maxName is how many bytes of a name PostgreSQL keeps; it would cut off the rest without an error.
const maxName = 63

// Name is the name of a table.
type Name struct {
	Schema string // "" before it is known: the first one of the user's search_path
	Table  string
}

// String is the name as SQL.
func (n Name) String() string {
	if n.Schema == "" {
		return quote(n.Table)
	}
	return quote(n.Schema) + "." + quote(n.Table)
}

// beside is a table of another name in the same schema.
func (n Name) beside(table string) Name { return Name{n.Schema, table} }

// quote is a name as SQL, whatever it holds.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// quoteAll is a list of names as SQL.
func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quote(n)
	}
	return strings.Join(quoted, ", ")
}

// parseName reads table or schema.table. A part in double quotes may hold anything, with a double quote written twice; another part stands for itself, case included.
func parseName(text string) (Name, error) {
	first, rest, err := namePart(text)
	if err != nil {
		return Name{}, err
	}
	if rest == "" {
		return Name{Table: first}, nil
	}
	second, rest, err := namePart(rest[1:])
	if err == nil && rest != "" {
		err = fmt.Errorf("%q has more than two parts; want table or schema.table, and double quotes around a part with a dot", text)
	}
	return Name{first, second}, err
}

// namePart takes one part off the text; rest begins with the dot behind it, or is empty.
func namePart(text string) (part, rest string, err error) {
	if !strings.HasPrefix(text, `"`) {
		if dot := strings.IndexByte(text, '.'); dot >= 0 {
			text, rest = text[:dot], text[dot:]
		}
		return text, rest, checkName(text)
	}
	for i := 1; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		if i+1 < len(text) && text[i+1] == '"' {
			i++
			continue
		}
		part, rest = strings.ReplaceAll(text[1:i], `""`, `"`), text[i+1:]
		if rest != "" && rest[0] != '.' {
			return "", "", fmt.Errorf("%q: want a dot or the end behind the quotes", text)
		}
		return part, rest, checkName(part)
	}
	return "", "", fmt.Errorf("%q: the quotes do not end", text)
}

// checkName says why something cannot be a name.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("a name is empty")
	case len(name) > maxName:
		return fmt.Errorf("the name %q has %d bytes; PostgreSQL keeps %d", name, len(name), maxName)
	case strings.ContainsRune(name, 0):
		return fmt.Errorf("the name %q holds a NUL byte", name)
	}
	return nil
}
