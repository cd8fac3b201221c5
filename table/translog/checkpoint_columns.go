package translog

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"microbatch/table/action"
)

// structs reads the fields of a struct column by name. Everything it returns is a copy.
type structs struct {
	*array.Struct
	fields map[string]arrow.Array
	subs   map[string]structs // of the fields that are structs
	texts  map[string]string  // all text of a column of strings: what is returned are parts of it
}

func newStructs(a arrow.Array) structs {
	s := a.(*array.Struct)
	t := s.DataType().(*arrow.StructType)
	out := structs{s, make(map[string]arrow.Array, t.NumFields()), map[string]structs{}, map[string]string{}}
	for i := range t.NumFields() {
		name, field := t.Field(i).Name, s.Field(i)
		out.fields[name] = field
		switch field := field.(type) {
		case *array.Struct:
			out.subs[name] = newStructs(field)
		case *array.String:
			out.texts[name] = textOf(field)
		}
	}
	return out
}

// textOf is a copy of all text of a column: one allocation for a record instead of one for each row.
func textOf(a *array.String) string {
	if a.Len() == 0 {
		return ""
	}
	return string(a.ValueBytes())
}

// textAt is the part of a column's text that is the value of a row.
func textAt(a *array.String, text string, row int) string {
	from := a.ValueOffset(row) - a.ValueOffset(0)
	return text[from : from+a.ValueLen(row)]
}

func (s structs) str(name string, row int) string {
	a := s.fields[name].(*array.String)
	if a.IsNull(row) {
		return ""
	}
	return textAt(a, s.texts[name], row)
}

func (s structs) long(name string, row int) int64 {
	if v := s.maybeLong(name, row); v != nil {
		return *v
	}
	return 0
}

func (s structs) maybeLong(name string, row int) *int64 {
	a := s.fields[name].(*array.Int64)
	if a.IsNull(row) {
		return nil
	}
	v := a.Value(row)
	return &v
}

func (s structs) maybeInt(name string, row int) *int32 {
	a := s.fields[name].(*array.Int32)
	if a.IsNull(row) {
		return nil
	}
	v := a.Value(row)
	return &v
}

func (s structs) int(name string, row int) int32 {
	if v := s.maybeInt(name, row); v != nil {
		return *v
	}
	return 0
}

func (s structs) bool(name string, row int) bool {
	a := s.fields[name].(*array.Boolean)
	return a.IsValid(row) && a.Value(row)
}

func (s structs) list(name string, row int) []string {
	a := s.fields[name].(*array.List)
	if a.IsNull(row) {
		return nil
	}
	values := a.ListValues().(*array.String)
	from, to := a.ValueOffsets(row)
	out := []string{}
	for i := from; i < to; i++ {
		out = append(out, strings.Clone(values.Value(int(i))))
	}
	return out
}

// nullMap is a map whose values may be null; nil if the map is null.
func (s structs) nullMap(name string, row int) map[string]*string {
	a := s.fields[name].(*array.Map)
	if a.IsNull(row) {
		return nil
	}
	keys, items := a.Keys().(*array.String), a.Items().(*array.String)
	from, to := a.ValueOffsets(row)
	out := map[string]*string{}
	for i := int(from); i < int(to); i++ {
		var value *string
		if items.IsValid(i) {
			v := strings.Clone(items.Value(i))
			value = &v
		}
		out[strings.Clone(keys.Value(i))] = value
	}
	return out
}

func (s structs) stringMap(name string, row int) map[string]string {
	out := map[string]string{}
	for k, v := range s.nullMap(name, row) {
		if v != nil {
			out[k] = *v
		}
	}
	return out
}

func (s structs) vector(row int) *action.DeletionVector {
	v := s.subs["deletionVector"]
	if v.IsNull(row) || v.str("storageType", row) == "" {
		return nil
	}
	return &action.DeletionVector{
		Storage: v.str("storageType", row), Path: v.str("pathOrInlineDv", row), Offset: v.maybeInt("offset", row),
		Size: v.int("sizeInBytes", row), Cardinality: v.long("cardinality", row),
	}
}
