package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// ToDelta writes a schema as the schemaString of a Delta metaData action. Types outside the canonical ones are an error that names the column.
func ToDelta(s *arrow.Schema) (string, error) {
	var b bytes.Buffer
	if err := writeDeltaStruct(&b, s.Fields(), ""); err != nil {
		return "", err
	}
	return b.String(), nil
}

func writeDeltaStruct(b *bytes.Buffer, fields []arrow.Field, path string) error {
	b.WriteString(`{"type":"struct","fields":[`)
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"name":` + jsonText(f.Name) + `,"type":`)
		if err := writeDeltaType(b, f.Type, join(path, f.Name)); err != nil {
			return err
		}
		fmt.Fprintf(b, `,"nullable":%t,"metadata":`, f.Nullable)
		writeDeltaMetadata(b, f.Metadata)
		b.WriteByte('}')
	}
	b.WriteString(`]}`)
	return nil
}

func writeDeltaType(b *bytes.Buffer, t arrow.DataType, path string) error {
	if _, delta, ok := scalarNames(t); ok {
		b.WriteString(`"` + delta + `"`)
		return nil
	}
	kids := children(t)
	switch t.(type) {
	case *arrow.StructType:
		return writeDeltaStruct(b, kids, path)
	case *arrow.ListType:
		b.WriteString(`{"type":"array","elementType":`)
		if err := writeDeltaType(b, kids[0].Type, join(path, elementName)); err != nil {
			return err
		}
		fmt.Fprintf(b, `,"containsNull":%t}`, kids[0].Nullable)
		return nil
	case *arrow.MapType:
		b.WriteString(`{"type":"map","keyType":`)
		if err := writeDeltaType(b, kids[0].Type, join(path, keyName)); err != nil {
			return err
		}
		b.WriteString(`,"valueType":`)
		if err := writeDeltaType(b, kids[1].Type, join(path, valueName)); err != nil {
			return err
		}
		fmt.Fprintf(b, `,"valueContainsNull":%t}`, kids[1].Nullable)
		return nil
	}
	return fmt.Errorf("schema: column %s: the type %s has no counterpart in a table", path, t)
}

func writeDeltaMetadata(b *bytes.Buffer, m arrow.Metadata) {
	b.WriteByte('{')
	n := 0
	for i, key := range m.Keys() {
		value := m.Values()[i]
		switch {
		case key == MetaComment:
			value = jsonText(value)
		case strings.HasPrefix(key, metaDelta):
			key = key[len(metaDelta):]
		default: // metadata of Arrow's own, such as PARQUET:field_id
			continue
		}
		if n++; n > 1 {
			b.WriteByte(',')
		}
		b.WriteString(jsonText(key) + ":" + value)
	}
	b.WriteByte('}')
}

// jsonText is a JSON string literal, without the escapes that HTML would want.
func jsonText(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // a string always encodes
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// join extends a dotted path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
