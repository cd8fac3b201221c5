package merge

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"microbatch/arrowparquet"
	"microbatch/table/action"
	"microbatch/table/datafile"
)

// statistics are the text of add.stats, as far as it matters here.
type statistics struct {
	Rows  *int64                     `json:"numRecords"`
	Min   map[string]json.RawMessage `json:"minValues"`
	Max   map[string]json.RawMessage `json:"maxValues"`
	Nulls map[string]json.RawMessage `json:"nullCount"`
}

// statisticsOf reads what a log says of a file. What cannot be read says nothing.
func statisticsOf(add *action.Add) (s statistics) {
	if add.Stats == "" || json.Unmarshal([]byte(add.Stats), &s) != nil {
		return statistics{}
	}
	return s
}

// bounds are those of a column that is in the file.
func (s *statistics) bounds(column string, t arrow.DataType) (b bounds) {
	if n, err := strconv.ParseInt(string(s.Nulls[column]), 10, 64); err == nil {
		b.noNulls = n == 0
		b.nulls = s.Rows != nil && n == *s.Rows && n > 0
	}
	b.lo, b.hi = encodeBound(s.Min[column], t, false), encodeBound(s.Max[column], t, true)
	return b
}

// encodeBound is a minimum or maximum of a log as Columns encodes it; nil if it says nothing.
func encodeBound(raw json.RawMessage, t arrow.DataType, upper bool) []byte {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var text string
	if raw[0] != '"' {
		text = string(raw)
	} else if json.Unmarshal(raw, &text) != nil {
		return nil
	}
	switch t := t.(type) {
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return appendInt([]byte{1}, n)
		}
	case *arrow.Date32Type:
		if at, err := time.Parse("2006-01-02", text); err == nil {
			return appendInt([]byte{1}, int64(arrow.Date32FromTime(at)))
		}
	case *arrow.TimestampType:
		return encodeTime(text, upper)
	case *arrow.Decimal128Type:
		if strings.Trim(text, "-0123456789.") != "" || digits(text) > exactDigits {
			return nil
		}
		if n, err := decimal128.FromString(text, t.Precision, t.Scale); err == nil {
			return appendDecimal([]byte{1}, n)
		}
	case *arrow.StringType:
		if raw[0] == '"' {
			return appendText([]byte{1}, text)
		}
	}
	return nil
}

// exactDigits is how many digits of a number survive a writer that keeps statistics of decimals as floating-point numbers, as delta-rs does.
const exactDigits = 15

func digits(text string) int {
	return len(strings.TrimLeft(strings.NewReplacer("-", "", ".", "").Replace(text), "0"))
}

// encodeTime reads a time of a log. Writers cut it to milliseconds, some the maximum too: so that is raised by one.
func encodeTime(text string, upper bool) []byte {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
		at, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		micros := at.UnixMicro()
		if upper {
			micros += 1000
		}
		return appendInt([]byte{1}, micros)
	}
	return nil
}

// partitionBounds are those of a partition column: its one value.
func partitionBounds(text *string, t arrow.DataType) bounds {
	if text == nil || *text == "" {
		return bounds{nulls: true}
	}
	a, err := datafile.PartitionValue(t, *text)
	if err != nil {
		return bounds{}
	}
	defer a.Release()
	e, err := encoderOf(a, true)
	if err != nil {
		return bounds{}
	}
	value := e(nil, 0)
	return bounds{lo: value, hi: value, noNulls: true}
}

// groupBounds are those of a column in a row group. How many nulls there are is not known of files that others wrote: none stated and none is the same there.
func groupBounds(c *arrowparquet.ColumnStats, t arrow.DataType) bounds {
	var lo, hi []byte
	switch least := c.Min.(type) {
	case int64:
		if n, _ := width(t); n == 8 {
			lo, hi = appendInt([]byte{1}, least), appendInt([]byte{1}, c.Max.(int64))
		}
	case decimal128.Num:
		if arrow.TypeEqual(c.Type, t) {
			lo, hi = appendDecimal([]byte{1}, least), appendDecimal([]byte{1}, c.Max.(decimal128.Num))
		}
	case string:
		if arrow.TypeEqual(c.Type, t) {
			lo, hi = appendText([]byte{1}, least), appendText([]byte{1}, c.Max.(string))
		}
	}
	return bounds{lo: lo, hi: hi}
}
