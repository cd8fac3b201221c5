package json

import (
	"bytes"
	"encoding/base64"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"microbatch/schema"
)

// The reference decides rows as package json must, but on encoding/json, math/big, regexp and package time, slowly and by other means.

// errRejected is the reference's only verdict but for values.
var errRejected = errors.New("rejected")

// referenceRow is the text of a row as rowText has it, or errRejected.
func referenceRow(s *arrow.Schema, msg []byte) (string, error) {
	msg = bytes.TrimPrefix(msg, []byte("\xef\xbb\xbf"))
	trimmed := bytes.Trim(msg, " \t\r\n")
	if !stdjson.Valid(msg) || !utf8.Valid(msg) || len(trimmed) == 0 || trimmed[0] != '{' || depth(msg) > 64 {
		return "", errRejected
	}
	return referenceStruct(s.Fields(), trimmed)
}

// depth is how deep objects and arrays stand in each other.
func depth(msg []byte) int {
	deepest, now := 0, 0
	for d := stdjson.NewDecoder(bytes.NewReader(msg)); ; {
		token, err := d.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case stdjson.Delim('{'), stdjson.Delim('['):
			now++
		case stdjson.Delim('}'), stdjson.Delim(']'):
			now--
		}
		deepest = max(deepest, now)
	}
}

// member is a name and the text of its value.
type member struct {
	name string
	raw  []byte
}

// membersOf takes an object apart.
func membersOf(raw []byte) []member {
	d := stdjson.NewDecoder(bytes.NewReader(raw))
	d.Token()
	var all []member
	for d.More() {
		name, _ := d.Token()
		var value stdjson.RawMessage
		d.Decode(&value)
		all = append(all, member{name.(string), value})
	}
	return all
}

func referenceStruct(fields []arrow.Field, raw []byte) (string, error) {
	values := make([]string, len(fields))
	for _, m := range membersOf(raw) {
		for i, f := range fields {
			if f.Name == m.name {
				v, err := referenceValue(f.Type, f.Nullable, m.raw)
				if err != nil {
					return "", err
				}
				values[i] = v
			}
		}
	}
	for i, f := range fields {
		if values[i] == "" {
			if !f.Nullable {
				return "", errRejected
			}
			values[i] = "null"
		}
	}
	return "{" + strings.Join(values, ",") + "}", nil
}

func referenceValue(t arrow.DataType, nullable bool, raw []byte) (string, error) {
	if string(raw) == "null" {
		if !nullable {
			return "", errRejected
		}
		return "null", nil
	}
	var text *string
	if raw[0] == '"' {
		text = new(string)
		if err := stdjson.Unmarshal(raw, text); err != nil {
			return "", err
		}
	}
	isNumber := raw[0] == '-' || raw[0]-'0' <= 9
	switch t := t.(type) {
	case *arrow.StringType:
		if text == nil {
			return strconv.Quote(string(raw)), nil
		}
		return strconv.Quote(*text), nil
	case *arrow.Int64Type, *arrow.Int32Type, *arrow.Int16Type, *arrow.Int8Type:
		bits := t.(arrow.FixedWidthDataType).BitWidth()
		if v, err := strconv.ParseInt(string(raw), 10, bits); err == nil {
			return strconv.FormatInt(v, 10), nil
		}
	case *arrow.Float64Type, *arrow.Float32Type:
		v := 0.0
		if isNumber {
			v, _ = strconv.ParseFloat(string(raw), 64)
			if math.IsInf(v, 0) || t.ID() == arrow.FLOAT32 && math.IsInf(float64(float32(v)), 0) {
				return "", errRejected
			}
		} else {
			names := map[string]float64{"NaN": math.NaN(), "INF": math.Inf(1), "+INF": math.Inf(1), "-INF": math.Inf(-1), "Infinity": math.Inf(1),
				"+Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}
			ok := false
			if text != nil {
				v, ok = names[*text]
			}
			if !ok {
				return "", errRejected
			}
		}
		if t.ID() == arrow.FLOAT32 {
			v = float64(float32(v))
		}
		return strconv.FormatUint(math.Float64bits(v), 16), nil
	case *arrow.BooleanType:
		if s := string(raw); s == "true" || s == "false" {
			return s, nil
		}
	case *arrow.Decimal128Type:
		s := string(raw)
		if text != nil {
			s = *text
		} else if !isNumber {
			return "", errRejected
		}
		return referenceDecimal(t, s)
	case *arrow.BinaryType:
		if text != nil && !strings.ContainsAny(*text, "\r\n") {
			encoding := base64.RawStdEncoding
			if strings.Contains(*text, "=") {
				encoding = base64.StdEncoding
			}
			if b, err := encoding.DecodeString(*text); err == nil {
				return strconv.Quote(string(b)), nil
			}
		}
	case *arrow.TimestampType:
		if text != nil {
			if v, zoned, ok := referenceTime(*text); ok && !(zoned && t.TimeZone == "") {
				return strconv.FormatInt(v.UnixMicro(), 10), nil
			}
		} else if v, err := strconv.ParseInt(string(raw), 10, 64); err == nil && t.TimeZone != "" {
			if year := time.Unix(v, 0).UTC().Year(); year >= 1 && year <= 9999 && v > -1<<40 && v < 1<<40 {
				return strconv.FormatInt(v*1e6, 10), nil
			}
		}
	case *arrow.Date32Type:
		if text != nil {
			if s := strings.TrimSpace(*text); datePattern.MatchString(s) {
				if v, _, ok := referenceTime(s); ok {
					return v.Format(time.DateOnly), nil
				}
			} else if _, _, ok := referenceTime(s); ok {
				v, _, _ := referenceTime(datePrefix.FindString(s))
				return v.Format(time.DateOnly), nil
			}
		}
	case *arrow.StructType:
		if raw[0] == '{' {
			return referenceStruct(t.Fields(), raw)
		}
	case *arrow.ListType:
		var items []stdjson.RawMessage
		if raw[0] == '[' && stdjson.Unmarshal(raw, &items) == nil {
			var parts []string
			for _, item := range items {
				v, err := referenceValue(t.Elem(), t.ElemField().Nullable, item)
				if err != nil {
					return "", err
				}
				parts = append(parts, v)
			}
			return "[" + strings.Join(parts, ",") + "]", nil
		}
	case *arrow.MapType:
		if raw[0] == '{' {
			last := map[string]string{}
			for _, m := range membersOf(raw) {
				key := strconv.Quote(m.name)
				if t.KeyType().ID() != arrow.STRING {
					v, err := strconv.ParseInt(m.name, 10, 32)
					if err != nil {
						return "", errRejected
					}
					key = strconv.FormatInt(v, 10)
				}
				v, err := referenceValue(t.ItemType(), t.ItemField().Nullable, m.raw)
				if err != nil {
					return "", err
				}
				last[key] = v
			}
			return mapText(last), nil
		}
	}
	return "", errRejected
}

// mapText is a map's entries in order of their keys.
func mapText(entries map[string]string) string {
	var parts []string
	for k, v := range entries {
		parts = append(parts, k+":"+v)
	}
	sort.Strings(parts)
	return "{" + strings.Join(parts, ",") + "}"
}

var decimalPattern = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)

func referenceDecimal(t *arrow.Decimal128Type, s string) (string, error) {
	if !decimalPattern.MatchString(s) {
		return "", errRejected
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	v, _ := new(big.Rat).SetString(mantissa)
	if v.Sign() == 0 {
		return "0", nil
	}
	if exponent != "" {
		e, ok := new(big.Int).SetString(exponent, 10)
		far := big.NewInt(int64(len(mantissa)) + 100)
		switch {
		case !ok:
			return "", errRejected
		case e.Cmp(far) > 0:
			return "", errRejected
		case e.Cmp(new(big.Int).Neg(far)) < 0:
			return "0", nil
		}
		power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), new(big.Int).Abs(e), nil))
		if e.Sign() < 0 {
			power.Inv(power)
		}
		v.Mul(v, power)
	}
	v.Mul(v, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Scale)), nil)))
	negative := v.Sign() < 0
	v.Abs(v).Add(v, big.NewRat(1, 2)) // half up, away from zero
	n := new(big.Int).Quo(v.Num(), v.Denom())
	if n.Cmp(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Precision)), nil)) >= 0 {
		return "", errRejected
	}
	if negative {
		n.Neg(n)
	}
	return n.String(), nil
}

var (
	datePattern = regexp.MustCompile(`^\d{4}(-\d{1,2}(-\d{1,2})?)?$`)
	datePrefix  = regexp.MustCompile(`^\d{4}(-\d{1,2}(-\d{1,2})?)?`)
	timePattern = regexp.MustCompile(`^(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?:T|[T ](\d{1,2}):(\d{1,2})(?::(\d{1,2})(\.\d*)?)?(.*))?$`)
	zonePattern = regexp.MustCompile(`^ ?(?:UTC|GMT|UT|Z)?(?:([+-])(\d{1,2})(?::?(\d{1,2}))?)?$`)
)

// referenceTime reads a timestamp as column.ParseTimestamp says.
func referenceTime(s string) (v time.Time, zoned, ok bool) {
	m := timePattern.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return v, false, false
	}
	n := make([]int, 7)
	for i := 1; i <= 6; i++ {
		n[i], _ = strconv.Atoi(m[i])
		if m[i] == "" && (i == 2 || i == 3) {
			n[i] = 1
		}
	}
	fraction := (strings.TrimPrefix(m[7], ".") + "000000")[:6]
	micros, _ := strconv.Atoi(fraction)
	v = time.Date(n[1], time.Month(n[2]), n[3], n[4], n[5], n[6], micros*1000, time.UTC)
	if v.Year() != n[1] || v.Year() < 1 || v.Month() != time.Month(n[2]) || v.Day() != n[3] || v.Hour() != n[4] || v.Minute() != n[5] || v.Second() != n[6] {
		return v, false, false
	}
	if m[8] == "" {
		return v, false, true
	}
	if m[8] == "z" {
		return v, true, true
	}
	z := zonePattern.FindStringSubmatch(m[8])
	if z == nil || m[8] == " " {
		return v, false, false
	}
	hours, _ := strconv.Atoi(z[2])
	minutes, _ := strconv.Atoi(z[3])
	offset := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if minutes > 59 || offset > 18*time.Hour {
		return v, false, false
	}
	if z[1] == "-" {
		offset = -offset
	}
	v = v.Add(-offset)
	return v, true, v.Year() >= 1 && v.Year() <= 9999
}

// rowText is a decoded row in the form of the reference.
func rowText(record arrow.RecordBatch, row int) string {
	var values []string
	for _, col := range record.Columns() {
		values = append(values, valueText(col, row))
	}
	return "{" + strings.Join(values, ",") + "}"
}

func valueText(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "null"
	}
	switch a := a.(type) {
	case *array.String:
		return strconv.Quote(a.Value(i))
	case *array.Binary:
		return strconv.Quote(string(a.Value(i)))
	case *array.Float64:
		return strconv.FormatUint(math.Float64bits(a.Value(i)), 16)
	case *array.Float32:
		return strconv.FormatUint(math.Float64bits(float64(a.Value(i))), 16)
	case *array.Boolean:
		return strconv.FormatBool(a.Value(i))
	case *array.Decimal128:
		return a.Value(i).BigInt().String()
	case *array.Timestamp:
		return strconv.FormatInt(int64(a.Value(i)), 10)
	case *array.Date32:
		return a.Value(i).ToTime().Format(time.DateOnly)
	case *array.Struct:
		var values []string
		for k := range a.NumField() {
			values = append(values, valueText(a.Field(k), i))
		}
		return "{" + strings.Join(values, ",") + "}"
	case *array.Map:
		entries := map[string]string{}
		from, to := a.ValueOffsets(i)
		for k := int(from); k < int(to); k++ {
			key := valueText(a.Keys(), k)
			if _, twice := entries[key]; twice {
				return "the key " + key + " stands twice"
			}
			entries[key] = valueText(a.Items(), k)
		}
		return mapText(entries)
	case *array.List:
		var parts []string
		from, to := a.ValueOffsets(i)
		for k := int(from); k < int(to); k++ {
			parts = append(parts, valueText(a.ListValues(), k))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return fmt.Sprintf("%v", a.GetOneForMarshal(i))
}

// fuzzSchema has every type.
func fuzzSchema() *arrow.Schema {
	s, err := schema.ParseDDL(`b BOOLEAN, i8 TINYINT, i16 SMALLINT, i BIGINT, n INT NOT NULL, f FLOAT, d DOUBLE, x DECIMAL(10,2), y DECIMAL(38,9), s STRING, bin BINARY, dt DATE,
		ts TIMESTAMP, tn TIMESTAMP_NTZ, l ARRAY<INT>, m MAP<STRING, BIGINT>, k MAP<INT, STRING>, st STRUCT<a: INT, b: STRUCT<c: STRING, s: ARRAY<STRING>>>, ls ARRAY<STRUCT<a: STRING, b: DATE>>`)
	if err != nil {
		panic(err)
	}
	return s
}

// nullableFuzzSchema is fuzzSchema without NOT NULL.
func nullableFuzzSchema(t testing.TB) *arrow.Schema {
	t.Helper()
	fields := fuzzSchema().Fields()
	for i := range fields {
		fields[i].Nullable = true
	}
	return arrow.NewSchema(fields, nil)
}
