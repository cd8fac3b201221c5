package avro

import (
	"fmt"

	"github.com/hamba/avro/v2"

	"microbatch/internal/errcode"
)

// Schema is an Avro schema of a record. It may be used by many goroutines.
type Schema struct {
	text string
	root *avro.RecordSchema
}

// Parse reads a schema from its JSON. References are the texts of schemas that it names, each behind those that it names itself.
func Parse(text string, references ...string) (*Schema, error) {
	cache := &avro.SchemaCache{}
	for i, reference := range references {
		if _, err := avro.ParseWithCache(reference, "", cache); err != nil {
			return nil, errcode.AvroSchema.Wrap(err, "", "reference %d", i+1)
		}
	}
	parsed, err := avro.ParseWithCache(text, "", cache)
	if err != nil {
		return nil, errcode.AvroSchema.Wrap(err, "", "not an Avro schema")
	}
	if err := check(parsed, map[string]bool{}); err != nil {
		return nil, errcode.AvroSchema.Wrap(err, "", "not an Avro schema")
	}
	root, ok := named(parsed).(*avro.RecordSchema)
	if !ok {
		return nil, errcode.AvroSchema.New("", "the schema is of %s; a message is a record, whose fields are the columns", article(string(parsed.Type())))
	}
	return &Schema{text: text, root: root}, nil
}

// check refuses what the library lets pass and no value can be of.
func check(s avro.Schema, seen map[string]bool) error {
	s = named(s)
	if n, ok := s.(avro.NamedSchema); ok {
		if seen[n.FullName()] {
			return nil
		}
		seen[n.FullName()] = true
	}
	var inner []avro.Schema
	switch s := s.(type) {
	case *avro.FixedSchema:
		if s.Size() < 0 || s.Size() > maxRow {
			return fmt.Errorf("fixed %s has %d bytes", s.FullName(), s.Size())
		}
	case *avro.RecordSchema:
		for _, f := range s.Fields() {
			inner = append(inner, f.Type())
		}
	case *avro.ArraySchema:
		inner = []avro.Schema{s.Items()}
	case *avro.MapSchema:
		inner = []avro.Schema{s.Values()}
	case *avro.UnionSchema:
		inner = s.Types()
	}
	for _, i := range inner {
		if err := check(i, seen); err != nil {
			return err
		}
	}
	return nil
}

// Text is the schema's JSON as it was given.
func (s *Schema) Text() string { return s.text }

// Name is the full name of the record.
func (s *Schema) Name() string { return s.root.FullName() }

// named is the schema itself where there is only its name.
func named(s avro.Schema) avro.Schema {
	if ref, ok := s.(*avro.RefSchema); ok {
		return ref.Schema()
	}
	return s
}

// nothing, and the names of logical types that the library does not know.
const (
	nothing             avro.LogicalType = ""
	timestampNanos      avro.LogicalType = "timestamp-nanos"
	localTimestampNanos avro.LogicalType = "local-timestamp-nanos"
)

// logical is what a schema says that its values mean, if they are of a type that can mean it: others are to be ignored, as Avro has it.
func logical(s avro.Schema) avro.LogicalType {
	if l, ok := s.(avro.LogicalTypeSchema); ok && l.Logical() != nil {
		return l.Logical().Type()
	}
	p, ok := s.(avro.PropertySchema)
	if !ok {
		return nothing
	}
	word, _ := p.Prop("logicalType").(string)
	fixed, isFixed := s.(*avro.FixedSchema)
	switch l := avro.LogicalType(word); {
	case (l == timestampNanos || l == localTimestampNanos) && s.Type() == avro.Long:
		return l
	case l == avro.UUID && isFixed && fixed.Size() == 16:
		return l
	}
	return nothing
}

// decimal is precision and scale of a schema with logical type decimal.
func decimal(s avro.Schema) (precision, scale int32) {
	d := s.(avro.LogicalTypeSchema).Logical().(*avro.DecimalLogicalSchema)
	return int32(d.Precision()), int32(d.Scale())
}

// describe is a schema in a few words, for messages: "long", "long (timestamp-millis)", "record com.example.Order".
func describe(s avro.Schema) string {
	s = named(s)
	text := string(s.Type())
	if n, ok := s.(avro.NamedSchema); ok {
		text += " " + n.FullName()
	}
	switch l := logical(s); l {
	case nothing:
	case avro.Decimal:
		precision, scale := decimal(s)
		text += fmt.Sprintf(" (decimal %d,%d)", precision, scale)
	default:
		text += " (" + string(l) + ")"
	}
	return text
}

// article puts a or an before a word.
func article(word string) string {
	switch word[0] {
	case 'a', 'e', 'i', 'o', 'u':
		return "an " + word
	}
	return "a " + word
}
