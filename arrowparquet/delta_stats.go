package arrowparquet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// prefixUnits is how much of a string goes into Delta statistics, in UTF-16 units (Spark: DataSkippingStringPrefixLength).
const prefixUnits = 32

// DeltaJSON is the text of stats in a Delta add action (Delta protocol: Per-file Statistics). It has the number of nulls of every leaf that is indexed and
// not inside an array or a map, whose own nulls count instead; minimum and maximum of numbers, dates, timestamps and strings. Timestamps are in
// milliseconds, the maximum rounded up; strings are cut to 32 UTF-16 units, the maximum raised so that it stays a bound.
func (s *FileStats) DeltaJSON() string {
	d := deltaStats{columns: s.Columns, indexed: s.indexed}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"numRecords":%d,"minValues":`, s.Rows)
	d.object(&b, s.schema.Fields(), func(c *ColumnStats) string { return deltaBound(c, false) })
	b.WriteString(`,"maxValues":`)
	d.object(&b, s.schema.Fields(), func(c *ColumnStats) string { return deltaBound(c, true) })
	b.WriteString(`,"nullCount":`)
	d.object(&b, s.schema.Fields(), deltaNulls)
	b.WriteString(`}`)
	return b.String()
}

type deltaStats struct {
	columns []ColumnStats
	indexed int
	leaf    int // the next one
	column  int // the next one as Delta counts: an array or a map is one
}

// object writes one of the three nested objects; a value of "" is left out, an object that would be empty too, but for the outermost.
func (d *deltaStats) object(b *bytes.Buffer, fields []arrow.Field, value func(*ColumnStats) string) {
	d.leaf, d.column = 0, 0
	if !d.fields(b, fields, value) {
		b.WriteString("{}")
	}
}

// fields writes an object of those fields that have a value, and reports whether there was one.
func (d *deltaStats) fields(b *bytes.Buffer, fields []arrow.Field, value func(*ColumnStats) string) bool {
	some := false
	for _, f := range fields {
		before := b.Len()
		if some {
			b.WriteByte(',')
		} else {
			b.WriteByte('{')
		}
		b.WriteString(jsonString(f.Name) + ":")
		if !d.field(b, f, value) {
			b.Truncate(before)
			continue
		}
		some = true
	}
	if some {
		b.WriteByte('}')
	}
	return some
}

func (d *deltaStats) field(b *bytes.Buffer, f arrow.Field, value func(*ColumnStats) string) bool {
	if t, ok := f.Type.(*arrow.StructType); ok {
		return d.fields(b, t.Fields(), value)
	}
	c := &d.columns[d.leaf]
	d.leaf += leavesOf(f.Type)
	if d.column++; d.indexed >= 0 && d.column > d.indexed {
		return false
	}
	text := value(c)
	b.WriteString(text)
	return text != ""
}

func leavesOf(t arrow.DataType) int {
	switch t := t.(type) {
	case *arrow.StructType:
		n := 0
		for _, f := range t.Fields() {
			n += leavesOf(f.Type)
		}
		return n
	case *arrow.ListType:
		return leavesOf(t.Elem())
	case *arrow.MapType:
		return leavesOf(t.KeyType()) + leavesOf(t.ItemType())
	}
	return 1
}

func deltaNulls(c *ColumnStats) string {
	if c.Repeated {
		return strconv.FormatInt(c.ListNulls, 10)
	}
	return strconv.FormatInt(c.Nulls, 10)
}

// deltaBound is a minimum or maximum as JSON text; "" if Delta has none for it.
func deltaBound(c *ColumnStats, upper bool) string {
	v, cut := c.Min, c.MinCut
	if upper {
		v, cut = c.Max, c.MaxCut
	}
	if v == nil || c.Repeated {
		return ""
	}
	switch t := c.Type.(type) {
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type:
		return strconv.FormatInt(v.(int64), 10)
	case *arrow.Float32Type, *arrow.Float64Type:
		return floatText(c, v.(float64))
	case *arrow.Decimal128Type:
		return v.(decimal128.Num).ToString(t.Scale)
	case *arrow.Date32Type:
		return timeText(time.Unix(v.(int64)*86400, 0), "2006-01-02")
	case *arrow.TimestampType:
		return timestampText(v.(int64), upper, t.TimeZone != "")
	case *arrow.StringType:
		return stringText(v.(string), upper, cut)
	}
	return ""
}

// floatText leaves both bounds out if one is infinite: JSON has no such number.
func floatText(c *ColumnStats, f float64) string {
	if math.IsInf(c.Min.(float64), 0) || math.IsInf(c.Max.(float64), 0) {
		return ""
	}
	size := 64
	if c.Type.ID() == arrow.FLOAT32 {
		size = 32
	}
	return strconv.FormatFloat(f, 'g', -1, size)
}

// timestampText is ISO 8601 in milliseconds: rounded down for a minimum, up for a maximum. A maximum in the last millisecond of the year 9999, as in "valid until
// for ever", keeps its microseconds: without any bound deltalake's PyArrow dataset would take the file for one without such rows.
func timestampText(micros int64, upper, utc bool) string {
	zone := ""
	if utc {
		zone = "Z"
	}
	at := time.UnixMicro(micros).UTC()
	if rest := at.Nanosecond() % 1e6; upper && rest != 0 {
		if next := at.Add(time.Millisecond); next.Year() <= 9999 {
			at = next
		} else {
			return timeText(at, "2006-01-02T15:04:05.000000"+zone)
		}
	}
	return timeText(at, "2006-01-02T15:04:05.000"+zone)
}

// timeText is "" outside of the years that ISO text has four digits for.
func timeText(t time.Time, layout string) string {
	t = t.UTC()
	if y := t.Year(); y < 0 || y > 9999 {
		return ""
	}
	return jsonString(t.Format(layout))
}

func stringText(s string, upper, cut bool) string {
	if !utf8.ValidString(s) {
		if !cut {
			return "" // not text at all
		}
		s = validPrefix(s)
	}
	if !upper {
		return jsonString(s[:units(s, 0, prefixUnits)])
	}
	bound, ok := raise(s)
	if !ok {
		return ""
	}
	return jsonString(bound)
}

// validPrefix drops a character that was cut at the end.
func validPrefix(s string) string {
	for i := 1; i <= utf8.UTFMax && i <= len(s); i++ {
		if p := s[:len(s)-i]; utf8.ValidString(p) {
			return p
		}
	}
	return ""
}

// units is the byte position n UTF-16 units behind the position at, before a character that would pass it; at most the end.
func units(s string, at, n int) int {
	for i, r := range s[at:] {
		size := 1
		if r > 0xffff {
			size = 2
		}
		if n < size {
			return at + i
		}
		n -= size
	}
	return len(s)
}

// raise is the upper bound of Spark's statistics for a string (Spark: StatisticsCollection): the string itself up to 32 units, else a prefix followed by a
// character that is greater than the one it replaces. It reports false if the first 64 units have none that can be passed.
func raise(s string) (string, bool) {
	cur := units(s, 0, prefixUnits)
	if n := utf16Length(s[:cur]); n < prefixUnits && cur < len(s) { // not to split a surrogate pair: one unit more
		_, size := utf8.DecodeRuneInString(s[cur:])
		cur += size
	}
	for utf16Length(s[:cur]) <= 2*prefixUnits {
		if cur >= len(s) {
			return s, true
		}
		r, size := utf8.DecodeRuneInString(s[cur:])
		switch {
		case r == utf8.MaxRune:
			cur += size
		case r < 0x7f:
			return s[:cur] + "\u007f", true
		default:
			return s[:cur] + string(utf8.MaxRune), true
		}
	}
	return "", false
}

func utf16Length(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}

// jsonString is a JSON string without the escapes for HTML.
func jsonString(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // a string always encodes
		panic(err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
