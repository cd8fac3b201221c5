package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

type deltaField struct {
	Name     string                     `json:"name"`
	Type     json.RawMessage            `json:"type"`
	Nullable bool                       `json:"nullable"`
	Metadata map[string]json.RawMessage `json:"metadata"`
}

type deltaType struct {
	Type              string          `json:"type"`
	Fields            []deltaField    `json:"fields"`
	ElementType       json.RawMessage `json:"elementType"`
	ContainsNull      bool            `json:"containsNull"`
	KeyType           json.RawMessage `json:"keyType"`
	ValueType         json.RawMessage `json:"valueType"`
	ValueContainsNull bool            `json:"valueContainsNull"`
}

// FromDelta reads the schemaString of a Delta metaData action. A type that has no Arrow counterpart here (void, variant, interval) is an error
// that names the column.
func FromDelta(text string) (*arrow.Schema, error) {
	t, err := readDeltaType(json.RawMessage(text), "", 0)
	if err != nil {
		return nil, err
	}
	s, ok := t.(*arrow.StructType)
	if !ok {
		return nil, fmt.Errorf("schema: the schema of a table is a struct, not %s", TypeDDL(t))
	}
	return arrow.NewSchema(s.Fields(), nil), nil
}

func readDeltaType(raw json.RawMessage, path string, depth int) (arrow.DataType, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("schema: column %s: types are nested more than %d deep", path, maxDepth)
	}
	var name string
	if json.Unmarshal(raw, &name) == nil {
		return readDeltaScalar(name, path)
	}
	var t deltaType
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, fmt.Errorf("schema: column %q: not a type of Delta's schema JSON: %w", path, err)
	}
	switch t.Type {
	case "struct":
		fields, err := readDeltaFields(t.Fields, path, depth)
		if err != nil {
			return nil, err
		}
		return arrow.StructOf(fields...), nil
	case "array":
		element, err := readDeltaType(t.ElementType, join(path, elementName), depth+1)
		if err != nil {
			return nil, err
		}
		return List(element, t.ContainsNull), nil
	case "map":
		key, err := readDeltaType(t.KeyType, join(path, keyName), depth+1)
		if err != nil {
			return nil, err
		}
		value, err := readDeltaType(t.ValueType, join(path, valueName), depth+1)
		if err != nil {
			return nil, err
		}
		return Map(key, value, t.ValueContainsNull), nil
	}
	return nil, fmt.Errorf("schema: column %q: the type %q is not supported", path, t.Type)
}

func readDeltaFields(in []deltaField, path string, depth int) ([]arrow.Field, error) {
	out := make([]arrow.Field, 0, len(in))
	for _, f := range in {
		at := join(path, f.Name)
		if i := find(out, f.Name); i >= 0 {
			return nil, fmt.Errorf("schema: column %s is there twice", at)
		}
		t, err := readDeltaType(f.Type, at, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, arrow.Field{Name: f.Name, Type: t, Nullable: f.Nullable, Metadata: readDeltaMetadata(f.Metadata)})
	}
	return out, nil
}

func readDeltaScalar(name, path string) (arrow.DataType, error) {
	switch name {
	case "timestamp":
		return Timestamp(), nil
	case "timestamp_ntz":
		return TimestampNTZ(), nil
	case "decimal": // as old writers spell decimal(10,0)
		return decimalType(10, 0)
	}
	if strings.HasPrefix(name, "decimal(") {
		var precision, scale int32
		if _, err := fmt.Sscanf(name, "decimal(%d,%d)", &precision, &scale); err != nil {
			return nil, fmt.Errorf("schema: column %s: %q is not a decimal type", path, name)
		}
		t, err := decimalType(precision, scale)
		if err != nil {
			return nil, fmt.Errorf("schema: column %s: %w", path, err)
		}
		return t, nil
	}
	for _, s := range scalars {
		if s.delta == name {
			return s.make(), nil
		}
	}
	return nil, fmt.Errorf("schema: column %q: the type %q is not supported", path, name)
}

// readDeltaMetadata keeps a string comment as such and everything else as raw JSON, in order of the names.
func readDeltaMetadata(m map[string]json.RawMessage) arrow.Metadata {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	var keys, values []string
	for _, name := range names {
		var comment string
		if name == MetaComment && json.Unmarshal(m[name], &comment) == nil {
			keys, values = append(keys, MetaComment), append(values, comment)
			continue
		}
		keys, values = append(keys, metaDelta+name), append(values, string(m[name]))
	}
	return arrow.NewMetadata(keys, values)
}
