package project

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/schema"
)

// scope is what evaluation may use. ctx carries the allocator for the compute kernels.
type scope struct {
	ctx      context.Context
	mem      memory.Allocator
	batch    ident.BatchID
	operator string
}

// bound is a value that knows its columns: eval gives one element a row, which the caller releases.
type bound struct {
	field arrow.Field
	eval  func(s *scope, rec arrow.RecordBatch) (arrow.Array, error)
}

// bind finds the columns of a value in a schema and checks its types.
func (v *value) bind(in *arrow.Schema) (bound, error) {
	switch {
	case v.column != nil:
		return v.bindColumn(in)
	case v.literal != nil:
		return v.literal.bind()
	}
	return v.bindCast(in)
}

func (v *value) bindColumn(in *arrow.Schema) (bound, error) {
	fields, path := in.Fields(), make([]int, 0, len(v.column))
	var f arrow.Field
	nullable := false
	for depth, name := range v.column {
		at := find(fields, name)
		if at < 0 {
			return bound{}, wrong(v.at, "there is no column %s; there are %s", strings.Join(v.column[:depth+1], "."), names(fields))
		}
		f, path = fields[at], append(path, at)
		nullable = nullable || f.Nullable
		if depth == len(v.column)-1 {
			break
		}
		s, ok := f.Type.(*arrow.StructType)
		if !ok {
			return bound{}, wrong(v.at, "%s is %s and has no parts", strings.Join(v.column[:depth+1], "."), schema.TypeDDL(f.Type))
		}
		fields = s.Fields()
	}
	f.Nullable = nullable
	return bound{f, func(s *scope, rec arrow.RecordBatch) (arrow.Array, error) { return column(s.mem, rec, path), nil }}, nil
}

func names(fields []arrow.Field) string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.Name
	}
	return strings.Join(out, ", ")
}

// column takes an array out of a record and its structs.
func column(mem memory.Allocator, rec arrow.RecordBatch, path []int) arrow.Array {
	a := rec.Column(path[0])
	a.Retain()
	for _, at := range path[1:] {
		parent := a.(*array.Struct)
		a = member(mem, parent, at)
		parent.Release()
	}
	return a
}

// member is a struct's field, null where the struct is null.
func member(mem memory.Allocator, parent *array.Struct, at int) arrow.Array {
	child := parent.Field(at)
	if parent.NullN() == 0 {
		child.Retain()
		return child
	}
	d := child.Data()
	valid := memory.NewResizableBuffer(mem)
	defer valid.Release()
	valid.Resize((d.Offset() + d.Len() + 7) / 8)
	clear(valid.Bytes())
	for i := range d.Len() {
		if parent.IsValid(i) && child.IsValid(i) {
			bit := d.Offset() + i
			valid.Bytes()[bit/8] |= 1 << (bit % 8)
		}
	}
	buffers := append([]*memory.Buffer{valid}, d.Buffers()[1:]...)
	data := array.NewData(d.DataType(), d.Len(), buffers, d.Children(), array.UnknownNullCount, d.Offset())
	defer data.Release()
	return array.MakeFromData(data)
}

func (v *value) bindCast(in *arrow.Schema) (bound, error) {
	of, err := v.cast.of.bind(in)
	if err != nil {
		return bound{}, err
	}
	to, try := v.cast.to, v.cast.try
	if !castable(of.field.Type, to) {
		return bound{}, wrong(v.at, "%s is %s, which has no cast to %s", v.cast.of.text, schema.TypeDDL(of.field.Type), schema.TypeDDL(to))
	}
	f := arrow.Field{Name: of.field.Name, Type: to, Nullable: true}
	return bound{f, func(s *scope, rec arrow.RecordBatch) (arrow.Array, error) {
		a, err := of.eval(s, rec)
		if err != nil {
			return nil, err
		}
		defer a.Release()
		out, err := castArray(s.mem, a, to, try)
		if bad, ok := errors.AsType[*badValue](err); ok {
			return nil, errcode.CastFailed.Wrap(bad, fmt.Sprintf("batch %s", s.batch), "%s, expression %s", s.operator, v.text)
		}
		return out, err
	}}, nil
}

// bind gives a literal the type that its text suggests.
func (l *literal) bind() (bound, error) {
	t, err := l.dataType()
	if err != nil {
		return bound{}, err
	}
	value, err := l.scalar(t)
	if err != nil {
		return bound{}, err
	}
	return bound{arrow.Field{Type: t, Nullable: true}, func(s *scope, rec arrow.RecordBatch) (arrow.Array, error) {
		return scalar.MakeArrayFromScalar(value, int(rec.NumRows()), s.mem)
	}}, nil
}

func (l *literal) dataType() (arrow.DataType, error) {
	switch {
	case l.of == "DATE":
		return arrow.FixedWidthTypes.Date32, nil
	case l.of == "TIMESTAMP":
		return schema.Timestamp(), nil
	case l.kind == tokText:
		return arrow.BinaryTypes.String, nil
	case l.kind == tokWord:
		return arrow.FixedWidthTypes.Boolean, nil
	case strings.ContainsAny(l.text, "eE"):
		return arrow.PrimitiveTypes.Float64, nil
	}
	digits := strings.TrimLeft(l.text, "-0")
	whole, fraction, _ := strings.Cut(digits, ".")
	if n, ok := parseInt(l.text); ok {
		if int64(int32(n)) == n {
			return arrow.PrimitiveTypes.Int32, nil
		}
		return arrow.PrimitiveTypes.Int64, nil
	}
	precision := max(1, len(whole)+len(fraction))
	if precision > schema.MaxPrecision {
		return nil, wrong(l.at, "%s has more than %d digits", l.text, schema.MaxPrecision)
	}
	return &arrow.Decimal128Type{Precision: int32(precision), Scale: int32(len(fraction))}, nil
}

// scalar is the literal as a value of a type, read as a cast reads its text.
func (l *literal) scalar(t arrow.DataType) (scalar.Scalar, error) {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	b.Append(l.text)
	text := b.NewArray()
	defer text.Release()
	a, err := castArray(memory.DefaultAllocator, text, t, false)
	if err != nil {
		return nil, wrong(l.at, "%q is no %s", l.text, schema.TypeDDL(t))
	}
	defer a.Release()
	return scalar.GetScalar(a, 0)
}
