package project

import (
	"errors"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"microbatch/schema"
)

// test is a bound condition: eval gives true, false or null for each row, and the caller releases it.
type test func(s *scope, rec arrow.RecordBatch) (arrow.Array, error)

// bind finds the condition's columns in a schema and checks its types.
func (c *condition) bind(in *arrow.Schema) (test, error) {
	switch c.op {
	case "AND", "OR", "NOT":
		return c.bindLogic(in)
	}
	v, err := c.value.bind(in)
	if err != nil {
		return nil, err
	}
	t := v.field.Type
	switch c.op {
	case "NULL":
		return isNull(v), nil
	case "":
		if t.ID() != arrow.BOOL {
			return nil, wrong(c.value.at, "%s is %s, and a condition is BOOLEAN", c.value.text, schema.TypeDDL(t))
		}
		return v.eval, nil
	case "IN":
		return bindIn(v, c)
	}
	return bindComparison(v, c, c.op, c.list[0])
}

var kleene = map[string]string{"AND": "and_kleene", "OR": "or_kleene"}

func (c *condition) bindLogic(in *arrow.Schema) (test, error) {
	tests, errs := make([]test, len(c.parts)), make([]error, len(c.parts))
	for i, part := range c.parts {
		tests[i], errs[i] = part.bind(in)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if c.op == "NOT" {
		return func(s *scope, rec arrow.RecordBatch) (arrow.Array, error) {
			a, err := tests[0](s, rec)
			if err != nil {
				return nil, err
			}
			return call(s, "not", a)
		}, nil
	}
	return chain(kleene[c.op], tests), nil
}

// chain joins tests with a binary kernel.
func chain(kernel string, tests []test) test {
	return func(s *scope, rec arrow.RecordBatch) (arrow.Array, error) {
		all, err := tests[0](s, rec)
		for _, next := range tests[1:] {
			if err != nil {
				return nil, err
			}
			b, failed := next(s, rec)
			if failed != nil {
				all.Release()
				return nil, failed
			}
			all, err = call(s, kernel, all, b)
		}
		return all, err
	}
}

// call runs a kernel and releases its arguments.
func call(s *scope, kernel string, args ...arrow.Array) (arrow.Array, error) {
	datums := make([]compute.Datum, len(args))
	for i, a := range args {
		datums[i] = compute.NewDatum(a)
		defer datums[i].Release()
		defer a.Release()
	}
	return result(compute.CallFunction(s.ctx, kernel, nil, datums...))
}

func result(d compute.Datum, err error) (arrow.Array, error) {
	if err != nil {
		return nil, err
	}
	defer d.Release()
	return d.(*compute.ArrayDatum).MakeArray(), nil
}

func isNull(v bound) test {
	return func(s *scope, rec arrow.RecordBatch) (arrow.Array, error) {
		a, err := v.eval(s, rec)
		if err != nil {
			return nil, err
		}
		defer a.Release()
		b := array.NewBooleanBuilder(s.mem)
		defer b.Release()
		b.Reserve(a.Len())
		for i := range a.Len() {
			b.UnsafeAppend(a.IsNull(i))
		}
		return b.NewArray(), nil
	}
}

func bindIn(v bound, c *condition) (test, error) {
	tests := make([]test, len(c.list))
	for i, l := range c.list {
		var err error
		if tests[i], err = bindComparison(v, c, "=", l); err != nil {
			return nil, err
		}
	}
	return chain(kleene["OR"], tests), nil
}

var kernels = map[string]string{"=": "equal", "<>": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}

// bindComparison makes the literal a value of the column's type; numbers are compared exactly (P3).
func bindComparison(v bound, c *condition, op string, l *literal) (test, error) {
	t := v.field.Type
	if !l.suits(t) {
		return nil, wrong(l.at, "%s is %s and cannot be compared with %s", c.value.text, schema.TypeDDL(t), l.text)
	}
	switch classOf(t) {
	case classInt, classDecimal:
		r, ok := rational(l.text)
		if !ok {
			return nil, wrong(l.at, "%s is no number", l.text)
		}
		op, n, known := exact(op, r, t)
		if n == nil {
			return constant(v, known), nil
		}
		return compare(v, op, numberOf(n, t)), nil
	case classFloat:
		t = arrow.PrimitiveTypes.Float64
		v = widen(v)
	}
	value, err := l.scalar(t)
	if err != nil {
		return nil, err
	}
	return compare(v, op, value), nil
}

// suits reports whether the literal is of the right kind for a type.
func (l *literal) suits(t arrow.DataType) bool {
	switch classOf(t) {
	case classInt, classFloat, classDecimal:
		return l.kind == tokNumber
	case classBool:
		return l.kind == tokWord
	case classText:
		return l.kind == tokText && l.of == ""
	case classDate:
		return l.kind == tokText && l.of != "TIMESTAMP"
	case classTimestamp:
		return l.kind == tokText
	}
	return false
}

func compare(v bound, op string, value scalar.Scalar) test {
	return func(s *scope, rec arrow.RecordBatch) (arrow.Array, error) {
		a, err := v.eval(s, rec)
		if err != nil {
			return nil, err
		}
		defer a.Release()
		left, right := compute.NewDatum(a), compute.NewDatum(value)
		defer left.Release()
		return result(compute.CallFunction(s.ctx, kernels[op], nil, left, right))
	}
}

// constant is a comparison whose result is known: null for null, else the same for all rows.
func constant(v bound, result bool) test {
	return func(s *scope, rec arrow.RecordBatch) (arrow.Array, error) {
		a, err := v.eval(s, rec)
		if err != nil {
			return nil, err
		}
		defer a.Release()
		b := array.NewBooleanBuilder(s.mem)
		defer b.Release()
		for i := range a.Len() {
			if a.IsNull(i) {
				b.AppendNull()
			} else {
				b.Append(result)
			}
		}
		return b.NewArray(), nil
	}
}

func widen(v bound) bound {
	return bound{v.field, func(s *scope, rec arrow.RecordBatch) (arrow.Array, error) {
		a, err := v.eval(s, rec)
		if err != nil {
			return nil, err
		}
		defer a.Release()
		return castArray(s.mem, a, arrow.PrimitiveTypes.Float64, false)
	}}
}

// rational reads a number exactly; exponents are bounded because the digits are written out.
func rational(text string) (*big.Rat, bool) {
	if mantissa, exponent, ok := splitExponent(trimSign(text)); !ok || len(mantissa) > 400 || exponent > 400 || exponent < -400 {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// exact turns a comparison with any number into one with a number that the type holds; without one (nil), the result is known.
func exact(op string, r *big.Rat, t arrow.DataType) (string, *big.Int, bool) {
	scale, low, high := limits(t)
	scaled := new(big.Rat).Mul(r, new(big.Rat).SetInt(tenTo(scale)))
	n, rest := new(big.Int).DivMod(scaled.Num(), scaled.Denom(), new(big.Int)) // rounded down
	if rest.Sign() != 0 {
		switch op {
		case "=":
			return op, nil, false
		case "<>":
			return op, nil, true
		case "<", "<=":
			op = "<="
		case ">", ">=":
			op = ">"
		}
	}
	switch {
	case n.Cmp(low) < 0:
		return op, nil, op == "<>" || op == ">" || op == ">="
	case n.Cmp(high) > 0:
		return op, nil, op == "<>" || op == "<" || op == "<="
	}
	return op, n, false
}

// limits are a type's scale and its smallest and largest value, times ten to the scale.
func limits(t arrow.DataType) (scale int32, low, high *big.Int) {
	if d, ok := t.(*arrow.Decimal128Type); ok {
		high = tenTo(d.Precision)
		high.Sub(high, big.NewInt(1))
		return d.Scale, new(big.Int).Neg(high), high
	}
	width := t.(arrow.FixedWidthDataType).BitWidth()
	return 0, big.NewInt(math.MinInt64 >> (64 - width)), big.NewInt(math.MaxInt64 >> (64 - width))
}

func tenTo(n int32) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// numberOf is a number that the type holds, as its scalar.
func numberOf(n *big.Int, t arrow.DataType) scalar.Scalar {
	switch t.ID() {
	case arrow.INT8:
		return scalar.NewInt8Scalar(int8(n.Int64()))
	case arrow.INT16:
		return scalar.NewInt16Scalar(int16(n.Int64()))
	case arrow.INT32:
		return scalar.NewInt32Scalar(int32(n.Int64()))
	case arrow.INT64:
		return scalar.NewInt64Scalar(n.Int64())
	}
	return scalar.NewDecimal128Scalar(decimal128.FromBigInt(n), t)
}
