package avro

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/internal/errcode"
)

// DefaultName is the record's name for a topic: the topic's, with _ for what a name of Avro cannot hold.
func DefaultName(topic string) string {
	name := unnameable.ReplaceAllString(topic, "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}

var (
	unnameable = regexp.MustCompile(`[^A-Za-z0-9_]`)
	fieldName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// Derive makes the schema of rows: a record of the full name, with a field for each column. A column that may be null is a union of null, its default, and its type.
// The record of a STRUCT is named after its field, in a namespace that is the full name of the record around it, as in Spark.
func Derive(name string, rows *arrow.Schema) (*Schema, error) {
	var b bytes.Buffer
	if err := recordText(&b, name, rows.Fields()); err != nil {
		return nil, errcode.AvroColumns.Wrap(err, "", "no Avro schema can be made of the columns")
	}
	return Parse(b.String())
}

// recordText writes the schema of a record.
func recordText(b *bytes.Buffer, name string, fields []arrow.Field) error {
	short := name[strings.LastIndexByte(name, '.')+1:]
	fmt.Fprintf(b, `{"type":"record","name":%s`, quoted(short))
	if len(short) < len(name) {
		fmt.Fprintf(b, `,"namespace":%s`, quoted(name[:len(name)-len(short)-1]))
	}
	b.WriteString(`,"fields":[`)
	for i, f := range fields {
		if !fieldName.MatchString(f.Name) {
			return fmt.Errorf("column %s: a field's name is made of letters without accents, digits and _; rename it", f.Name)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, `{"name":%s,"type":`, quoted(f.Name))
		if err := typeText(b, name+"."+f.Name, f); err != nil {
			return fmt.Errorf("column %s: %w", f.Name, err)
		}
		if f.Nullable {
			b.WriteString(`,"default":null`)
		}
		b.WriteByte('}')
	}
	b.WriteString(`]}`)
	return nil
}

// typeText writes the schema of a column, element or value; name is that of a record in it.
func typeText(b *bytes.Buffer, name string, f arrow.Field) error {
	if f.Nullable {
		b.WriteString(`["null",`)
		defer b.WriteByte(']')
	}
	switch t := f.Type.(type) {
	case *arrow.StructType:
		return recordText(b, name, t.Fields())
	case *arrow.MapType:
		if t.KeyType().ID() != arrow.STRING {
			return fmt.Errorf("a map's keys are strings in Avro, not %s", t.KeyType())
		}
		b.WriteString(`{"type":"map","values":`)
		defer b.WriteByte('}')
		return typeText(b, name, t.ItemField())
	case *arrow.ListType:
		b.WriteString(`{"type":"array","items":`)
		defer b.WriteByte('}')
		return typeText(b, name, t.ElemField())
	case *arrow.Decimal128Type:
		fmt.Fprintf(b, `{"type":"bytes","logicalType":"decimal","precision":%d,"scale":%d}`, t.Precision, t.Scale)
		return nil
	case *arrow.TimestampType:
		logical := "local-timestamp-micros"
		if t.TimeZone != "" {
			logical = "timestamp-micros"
		}
		fmt.Fprintf(b, `{"type":"long","logicalType":%q}`, logical)
		return nil
	}
	text, ok := map[arrow.Type]string{
		arrow.BOOL: `"boolean"`, arrow.INT8: `"int"`, arrow.INT16: `"int"`, arrow.INT32: `"int"`, arrow.INT64: `"long"`, arrow.FLOAT32: `"float"`, arrow.FLOAT64: `"double"`,
		arrow.DATE32: `{"type":"int","logicalType":"date"}`, arrow.STRING: `"string"`, arrow.BINARY: `"bytes"`,
	}[f.Type.ID()]
	if !ok {
		return fmt.Errorf("the type %s has no counterpart in Avro", f.Type)
	}
	b.WriteString(text)
	return nil
}

// quoted is a string of JSON.
func quoted(s string) string {
	text, _ := json.Marshal(s) // of a string there is always one
	return string(text)
}
