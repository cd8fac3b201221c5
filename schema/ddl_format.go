package schema

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// FormatDDL writes a schema as DDL on one line: the inverse of ParseDDL, in its canonical spelling. Children of arrays and maps that are not
// nullable cannot be said in DDL and appear nullable. An Arrow type outside the canonical ones appears under its Arrow name.
func FormatDDL(s *arrow.Schema) string {
	var b strings.Builder
	writeFields(&b, s.Fields(), " ")
	return b.String()
}

// TypeDDL writes one type as DDL, for messages: "ARRAY<STRUCT<a: INT>>".
func TypeDDL(t arrow.DataType) string {
	var b strings.Builder
	writeType(&b, t)
	return b.String()
}

func writeFields(b *strings.Builder, fields []arrow.Field, colon string) {
	for i, f := range fields {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quoteName(f.Name) + colon)
		writeType(b, f.Type)
		if !f.Nullable {
			b.WriteString(" NOT NULL")
		}
		if c, ok := f.Metadata.GetValue(MetaComment); ok {
			b.WriteString(" COMMENT '" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(c) + "'")
		}
	}
}

func writeType(b *strings.Builder, t arrow.DataType) {
	if ddl, _, ok := scalarNames(t); ok {
		b.WriteString(ddl)
		return
	}
	kids := children(t)
	switch t.(type) {
	case *arrow.StructType:
		b.WriteString("STRUCT<")
		writeFields(b, kids, ": ")
	case *arrow.ListType:
		b.WriteString("ARRAY<")
		writeType(b, kids[0].Type)
	case *arrow.MapType:
		b.WriteString("MAP<")
		writeType(b, kids[0].Type)
		b.WriteString(", ")
		writeType(b, kids[1].Type)
	default:
		b.WriteString(t.String())
		return
	}
	b.WriteString(">")
}

// quoteName puts a name in backquotes unless it is a plain word that cannot be taken for a number.
func quoteName(name string) string {
	plain := name != "" && strings.Trim(name, "0123456789") != ""
	for _, r := range name {
		plain = plain && isWord(r)
	}
	if plain {
		return name
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}
