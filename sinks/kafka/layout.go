package kafka

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/codec"
	"microbatch/internal/errcode"
)

// layout says which columns make which part of a record: indexes of columns, -1 for none.
type layout struct {
	topic, key, headers, partition, operation int
	value                                     int   // raw
	rest                                      []int // of the encoder
	restSchema                                *arrow.Schema
	newEncoder                                func(*arrow.Schema) (codec.Encoder, error)
	deletes                                   []string
}

// newLayout finds the columns, or lists all that are missing or have another type.
func newLayout(c Config, in *arrow.Schema) (layout, error) {
	var faults []string
	column := func(option, name, want string, fits func(arrow.DataType) bool) int {
		if name == "" {
			return -1
		}
		at := in.FieldIndices(name)
		if len(at) != 1 {
			faults = append(faults, fmt.Sprintf("%s: the rows have no column %q; they have %s", option, name, names(in)))
			return -1
		}
		if t := in.Field(at[0]).Type; !fits(t) {
			faults = append(faults, fmt.Sprintf("%s: column %s is %s; want %s", option, name, t, want))
		}
		return at[0]
	}
	l := layout{
		topic:      column("topic_column", c.TopicColumn, "STRING", is(arrow.STRING)),
		key:        column("key", c.Key, "STRING, BINARY or an integer (CAST it to STRING)", is(append(integers, arrow.STRING, arrow.BINARY)...)),
		headers:    column("headers", c.Headers, "ARRAY<STRUCT<key STRING, value BINARY>>", isHeaders),
		partition:  column("partition", c.Partition, "an integer", is(integers...)),
		operation:  column("operation_column", c.Operation, "STRING", is(arrow.STRING)),
		value:      column("value", c.Value, "STRING or BINARY", is(arrow.STRING, arrow.BINARY)),
		newEncoder: c.Encoder,
		deletes:    c.Deletes,
	}
	if c.Encoder != nil {
		var fields []arrow.Field
		for i, f := range in.Fields() {
			if i != l.topic && i != l.headers && i != l.partition && i != l.operation {
				l.rest, fields = append(l.rest, i), append(fields, f)
			}
		}
		l.restSchema = arrow.NewSchema(fields, nil)
		if _, err := c.Encoder(l.restSchema); err != nil {
			faults = append(faults, fmt.Sprintf("format %s: %v", c.Format, err))
		}
	}
	if len(faults) > 0 {
		return l, errcode.KafkaSinkColumns.New("", "%s", strings.Join(faults, "; "))
	}
	return l, nil
}

var integers = []arrow.Type{arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64}

func is(types ...arrow.Type) func(arrow.DataType) bool {
	return func(t arrow.DataType) bool { return slices.Contains(types, t.ID()) }
}

// isHeaders wants a list of pairs of a name and bytes.
func isHeaders(t arrow.DataType) bool {
	list, ok := t.(*arrow.ListType)
	if !ok {
		return false
	}
	pair, ok := list.Elem().(*arrow.StructType)
	return ok && pair.NumFields() == 2 && pair.Field(0).Type.ID() == arrow.STRING && pair.Field(1).Type.ID() == arrow.BINARY
}

func names(s *arrow.Schema) string {
	var out []string
	for _, f := range s.Fields() {
		out = append(out, f.Name)
	}
	return strings.Join(out, ", ")
}
