package json

import (
	"encoding/binary"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/codec/column"
)

// slack is how many bytes must be readable behind the text that is parsed: the parser loads words without looking where the text ends.
const slack = 64

// maxUnknown bounds how many names of unknown fields an object keeps, and maxUnknownName their length.
const (
	maxUnknown     = 512
	maxUnknownName = 256
)

// fewFields is up to how many fields are tried one by one before a name is looked up.
const fewFields = 16

// field is a name that a JSON object may hold, and where its value goes.
type field struct {
	key            []byte // the name as JSON text up to the colon: `"name":`
	k0, m0, k1, m1 uint64 // its first 16 bytes, and masks for those that exist
	next           *field // what stood behind it in the last object that had it
	path           string // "a.b", for messages
	nullable       bool
	target         // what the value is decoded into; kind skip for a name that no column has
}

// target is a column with what the parser needs to fill it.
type target struct {
	kind   kind
	col    *column.Column
	limit  int32   // DECIMAL: precision
	scale  int32   // DECIMAL
	object *object // STRUCT: its fields
	item   *field  // ARRAY: the element; MAP: the value
	mapKey *field  // MAP: the key
	// textLen is how long the last text of a TIMESTAMP was.
	textLen int
}

// kind is what decides how a value is parsed: those of package column, and skip.
type kind = column.Kind

// skip is the kind of a field that no column has.
const skip = kind(255)

// object is a set of fields: the columns of the schema or those of a STRUCT.
type object struct {
	fields  []*field
	byName  map[string]*field // also the unknown names met so far
	other   *field            // stands for unknown names that are no longer kept; no text matches it
	unknown int               // how many unknown names byName holds
	first   field             // its next is what the last object began with
}

// never is a k0 that, with the mask m0 = 0, no text matches.
const never = 1

// newObject prepares the columns of one level.
func newObject(cols []*column.Column, prefix string) *object {
	o := &object{byName: make(map[string]*field), other: &field{k0: never, target: target{kind: skip}}}
	o.other.next = o.other
	last := &o.first
	for _, c := range cols {
		f := newField(c, prefix+c.Field().Name)
		f.setKey(c.Field().Name)
		o.fields = append(o.fields, f)
		o.byName[c.Field().Name] = f
		last.next, last = f, f
	}
	last.next = o.other
	return o
}

// newField prepares a column and those below it.
func newField(c *column.Column, path string) *field {
	f := &field{path: path, nullable: c.Field().Nullable, target: target{kind: c.Kind(), col: c}}
	switch c.Kind() {
	case column.Decimal:
		t := c.Field().Type.(*arrow.Decimal128Type)
		f.limit, f.scale = t.Precision, t.Scale
	case column.Struct:
		f.object = newObject(c.Kids(), path+".")
	case column.List:
		f.item = newField(c.Kids()[0], path+".element")
	case column.Map:
		f.mapKey = newField(c.Kids()[0].Kids()[0], path+".key")
		f.item = newField(c.Kids()[0].Kids()[1], path+".value")
	}
	return f
}

// setKey prepares the comparison with a name. A name that JSON text must escape is found by the slow way alone.
func (f *field) setKey(name string) {
	f.key = append(append([]byte{'"'}, name...), '"', ':')
	for _, c := range []byte(name) {
		if c < ' ' || c == '"' || c == '\\' {
			f.k0, f.m0 = never, 0
			return
		}
	}
	padded := append(append([]byte(nil), f.key...), make([]byte, 16)...)
	f.k0, f.k1 = binary.LittleEndian.Uint64(padded), binary.LittleEndian.Uint64(padded[8:])
	f.m0, f.m1 = lowBytes(len(f.key)), lowBytes(len(f.key)-8)
}

// lowBytes is a mask of the n lowest bytes.
func lowBytes(n int) uint64 {
	if n <= 0 {
		return 0
	}
	return ^uint64(0) >> (64 - 8*min(n, 8))
}

// at reports whether the field's name and a colon stand at b[i:].
func (f *field) at(b []byte, i int) bool {
	if load(b, i)&f.m0 != f.k0 || load(b, i+8)&f.m1 != f.k1 {
		return false
	}
	n := len(f.key)
	return n <= 16 || i+n <= len(b) && string(b[i+16:i+n]) == string(f.key[16:])
}

// find is the field of a name; unknown names get one of kind skip.
func (o *object) find(name []byte) *field {
	if f, ok := o.byName[string(name)]; ok {
		return f
	}
	if o.unknown >= maxUnknown || len(name) > maxUnknownName {
		return o.other
	}
	o.unknown++
	f := &field{next: o.other, target: target{kind: skip}}
	f.setKey(string(name))
	o.byName[string(name)] = f
	return f
}

// load is the little-endian word at b[i:].
func load(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }

// firstByte is the index of the lowest byte of a mask whose high bit is set.
func firstByte(mask uint64) int { return bits.TrailingZeros64(mask) >> 3 }
