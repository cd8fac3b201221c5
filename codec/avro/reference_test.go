package avro

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"github.com/hamba/avro/v2"
)

// generic is a value of a column as the library's generic decoder gives it, decimals as text.
func generic(a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return a.Value(i)
	case *array.Int8:
		return int(a.Value(i))
	case *array.Int16:
		return int(a.Value(i))
	case *array.Int32:
		return int(a.Value(i))
	case *array.Int64:
		return a.Value(i)
	case *array.Float32:
		return a.Value(i)
	case *array.Float64:
		return a.Value(i)
	case *array.Date32:
		return a.Value(i).ToTime()
	case *array.Timestamp:
		return time.UnixMicro(int64(a.Value(i))).UTC()
	case *array.Decimal128:
		t := a.DataType().(*arrow.Decimal128Type)
		return new(big.Rat).SetFrac(a.Value(i).BigInt(), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Scale)), nil)).RatString()
	case *array.String:
		return a.Value(i)
	case *array.Binary:
		return bytes.Clone(a.Value(i))
	case *array.Map:
		out := map[string]any{}
		from, to := a.ValueOffsets(i)
		for k := int(from); k < int(to); k++ {
			out[a.Keys().(*array.String).Value(k)] = generic(a.Items(), k)
		}
		return out
	case *array.List:
		out := []any{}
		from, to := a.ValueOffsets(i)
		for k := int(from); k < int(to); k++ {
			out = append(out, generic(a.ListValues(), k))
		}
		return out
	case *array.Struct:
		out := map[string]any{}
		for k := range a.NumField() {
			out[a.DataType().(*arrow.StructType).Field(k).Name] = generic(a.Field(k), i)
		}
		return out
	}
	panic(fmt.Sprintf("a column of %s", a.DataType()))
}

// without takes out of what the library has decoded the names of unions' branches, which columns do not have. Times of local-timestamp are of its own zone there.
func without(s avro.Schema, v any) any {
	switch s := named(s).(type) {
	case *avro.UnionSchema:
		if v == nil {
			return nil
		}
		inner := branches(s)[0]
		if m, ok := v.(map[string]any); ok && len(m) == 1 {
			for name, value := range m {
				if t, _ := s.Types().Get(name); t != nil {
					return without(t, value)
				}
			}
		}
		return without(inner, v)
	case *avro.ArraySchema:
		out := []any{}
		for _, item := range v.([]any) {
			out = append(out, without(s.Items(), item))
		}
		return out
	case *avro.MapSchema:
		out := map[string]any{}
		for key, value := range v.(map[string]any) {
			out[key] = without(s.Values(), value)
		}
		return out
	case *avro.RecordSchema:
		out := map[string]any{}
		for _, f := range s.Fields() {
			out[f.Name()] = without(f.Type(), v.(map[string]any)[f.Name()])
		}
		return out
	}
	switch x := v.(type) {
	case *big.Rat:
		return x.RatString()
	case time.Time:
		if l := logical(s); l == avro.LocalTimestampMicros || l == avro.LocalTimestampMillis {
			x = time.Date(x.Year(), x.Month(), x.Day(), x.Hour(), x.Minute(), x.Second(), x.Nanosecond(), time.UTC)
		}
		return x.UTC()
	}
	return v
}

var compared = cmp.Options{
	cmp.Comparer(func(a, b float32) bool { return a == b || a != a && b != b }),
	cmp.Comparer(func(a, b float64) bool { return a == b || a != a && b != b }),
}

// TestBothDirectionsAgainstTheLibrary: what our encoder writes of random rows the library's generic decoder reads as those values; and what we decode of it is the same rows.
func TestBothDirectionsAgainstTheLibrary(t *testing.T) {
	columns := columnsOf(t, allTypes+", nn BIGINT NOT NULL, ns STRUCT<x: INT NOT NULL, y: DECIMAL(5,0)> NOT NULL")
	s := derive(t, columns)
	for seed := range int64(20) {
		record := randomRecord(t, rand.New(rand.NewSource(seed)), columns, 200, memory.DefaultAllocator)
		e, err := NewEncoder(s, columns)
		if err != nil {
			t.Fatal(err)
		}
		d := decoderOf(t, plain(t, s), columns)
		rows := array.RecordToStructArray(record)
		for i := range rows.Len() {
			msg, err := e.AppendRow(nil, record, i)
			if err != nil {
				t.Fatal(err)
			}
			var got any
			if err := avro.Unmarshal(s.root, msg, &got); err != nil {
				t.Fatalf("row %d: %v", i, err)
			}
			if diff := cmp.Diff(generic(rows, i), without(s.root, got), compared); diff != "" {
				t.Fatalf("row %d of seed %d (-row +library):\n%s", i, seed, diff)
			}
			if err := d.Decode(msg); err != nil {
				t.Fatal(err)
			}
		}
		back := d.Flush()
		if !array.RecordEqual(record, back) {
			t.Errorf("seed %d: the rows are not what they were", seed)
		}
		back.Release()
		rows.Release()
		record.Release()
	}
}

// TestSchemasOfOthersAgainstTheLibrary: messages of schemas as others write them, encoded by the library, are decoded into the columns that the schema describes as the
// library decodes them.
func TestSchemasOfOthersAgainstTheLibrary(t *testing.T) {
	text := `{"type":"record","name":"R","fields":[
		{"name":"i","type":"int"}, {"name":"l","type":["long","null"]}, {"name":"num","type":["int","long"]}, {"name":"fl","type":["float","double"]},
		{"name":"e","type":{"type":"enum","name":"E","symbols":["RED","GREEN"]}}, {"name":"e2","type":["null","E"]},
		{"name":"fx","type":{"type":"fixed","name":"F","size":3}}, {"name":"s","type":"string"}, {"name":"by","type":"bytes"}, {"name":"b","type":"boolean"},
		{"name":"many","type":["null","string","int",{"type":"array","items":"long"}]},
		{"name":"m","type":{"type":"map","values":["null",{"type":"record","name":"In","fields":[{"name":"a","type":"double"},{"name":"tm","type":{"type":"int","logicalType":"time-millis"}}]}]}},
		{"name":"in","type":["null","In"]}, {"name":"list","type":{"type":"array","items":{"type":"array","items":"In"}}}, {"name":"nil","type":"null"}
	]}`
	s := parse(t, text)
	columns, err := s.Columns()
	if err != nil {
		t.Fatal(err)
	}
	d := decoderOf(t, plain(t, s), columns)
	rng := rand.New(rand.NewSource(1))
	in := func() map[string]any {
		return map[string]any{"a": rng.NormFloat64(), "tm": time.Duration(rng.Intn(86400000)) * time.Millisecond}
	}
	maybe := func(v any) any {
		if rng.Intn(3) == 0 {
			return nil
		}
		return v
	}
	for range 2000 {
		value := map[string]any{
			"i": rng.Intn(1 << 20), "l": maybe(rng.Int63()), "num": []any{rng.Intn(100), rng.Int63()}[rng.Intn(2)], "fl": []any{rng.Float32(), rng.Float64()}[rng.Intn(2)],
			"e": "GREEN", "e2": maybe(map[string]any{"E": "RED"}), "fx": [3]byte{1, 2, byte(rng.Intn(256))}, "s": "text", "by": []byte{0, 1}, "b": rng.Intn(2) == 0,
			"many": []any{nil, "x", 7, map[string]any{"array": []any{int64(1), int64(2)}}}[rng.Intn(4)],
			"m":    map[string]any{"a": maybe(map[string]any{"In": in()}), "b": nil}, "in": maybe(map[string]any{"In": in()}),
			"list": []any{[]any{in(), in()}, []any{}}[:rng.Intn(3)], "nil": nil,
		}
		msg, err := avro.Marshal(s.root, value)
		if err != nil {
			t.Fatal(err)
		}
		row := decoded(t, d, msg)
		var got map[string]any
		numbers := json.NewDecoder(strings.NewReader(row))
		numbers.UseNumber()
		if err := numbers.Decode(&got); err != nil {
			t.Fatalf("%s: %v", row, err)
		}
		if diff := cmp.Diff(asJSON(t, expected(value)), asJSON(t, flat(got))); diff != "" {
			t.Fatalf("%s (-library +row):\n%s", row, diff)
		}
	}
}

// expected is a value of TestSchemasOfOthersAgainstTheLibrary as its columns have it.
func expected(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 1 {
			for _, branch := range []string{"E", "In", "array"} {
				if inner, ok := v[branch]; ok {
					return expected(inner)
				}
			}
		}
		out := map[string]any{}
		for k, x := range v {
			out[k] = expected(x)
			switch x := x.(type) {
			case string:
				if k == "many" {
					out[k] = map[string]any{"member0": x, "member1": nil, "member2": nil}
				}
			case int:
				if k == "many" {
					out[k] = map[string]any{"member0": nil, "member1": x, "member2": nil}
				}
			case map[string]any:
				if k == "many" {
					out[k] = map[string]any{"member0": nil, "member1": nil, "member2": x["array"]}
				}
			}
		}
		return out
	case []any:
		out := []any{}
		for _, x := range v {
			out = append(out, expected(x))
		}
		return out
	case time.Duration:
		return v.Milliseconds()
	case float32:
		return float64(v)
	case [3]byte:
		return base64.StdEncoding.EncodeToString(v[:])
	}
	return v
}

// flat turns maps, which Arrow shows as lists of pairs, into objects.
func flat(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = flat(x)
		}
	case []any:
		pairs := map[string]any{}
		for i, x := range v {
			v[i] = flat(x)
			if m, ok := v[i].(map[string]any); ok && len(m) == 2 && reflect.TypeOf(m["key"]) == reflect.TypeOf("") {
				pairs[m["key"].(string)] = m["value"]
			}
		}
		if len(pairs) > 0 {
			return pairs
		}
	}
	return v
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// FuzzDecode: whatever the bytes, a message is a row or is refused, alone as well as behind others; and where the library decodes it too, to the same row.
func FuzzDecode(f *testing.F) {
	columns := columnsOf(f, allTypes)
	s := derive(f, columns)
	for _, msg := range randomMessages(f, columns, s, 20) {
		f.Add(msg)
	}
	format := plain(f, s)
	narrow := columnsOf(f, "l BIGINT, st STRUCT<y: ARRAY<STRUCT<z: BOOLEAN>>>")
	f.Fuzz(func(t *testing.T, msg []byte) {
		d := decoderOf(t, format, columns)
		first := decoded(t, d, msg)
		if second := decoded(t, d, msg); first != second {
			t.Fatalf("%s, then %s", first, second)
		}
		few := decoded(t, decoderOf(t, format, narrow), msg)
		if refused := strings.HasPrefix(few, "MB"); refused && !strings.HasPrefix(first, "MB") {
			t.Fatalf("with fewer columns it is refused: %s", few)
		}
		if strings.HasPrefix(first, "MB") || d.Decode(msg) != nil {
			return
		}
		record := d.Flush()
		defer record.Release()
		e, err := NewEncoder(s, columns)
		if err != nil {
			t.Fatal(err)
		}
		again, err := e.AppendRow(nil, record, 0)
		if err != nil {
			t.Fatal(err)
		}
		if third := decoded(t, d, again); third != first {
			t.Fatalf("%s, encoded and decoded again: %s", first, third)
		}
		var got any
		if err := avro.Unmarshal(s.root, msg, &got); err != nil {
			t.Fatalf("the library refuses what we take: %v", err)
		}
		rows := array.RecordToStructArray(record)
		defer rows.Release()
		if diff := cmp.Diff(generic(rows, 0), without(s.root, got), compared); diff != "" {
			t.Fatalf("(-row +library):\n%s", diff)
		}
	})
}
