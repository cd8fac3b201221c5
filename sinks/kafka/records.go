package kafka

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"microbatch/codec"
	"microbatch/internal/errcode"
)

// recorder makes records of rows. It is used by one goroutine.
type recorder struct {
	layout
	topicName string
	encoder   codec.Encoder // nil: raw

	text  []byte   // keys and values of a chunk
	ends  []int32  // of key and value of each row, in bytes
	out   []Record // of a chunk
	names map[string]string
}

func newRecorder(l layout, topic string) (*recorder, error) {
	r := &recorder{layout: l, topicName: topic, names: map[string]string{}}
	if l.newEncoder != nil {
		var err error
		if r.encoder, err = l.newEncoder(l.restSchema); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// records are the rows of a chunk, until the next call. They keep nothing of the chunk.
func (r *recorder) records(chunk arrow.RecordBatch) (out []Record, bytes int64, err error) {
	rows := int(chunk.NumRows())
	if err := r.encode(chunk, rows); err != nil {
		return nil, 0, err
	}
	out = slices.Grow(r.out[:0], rows)[:rows]
	r.out = out
	from := int32(0)
	for i := range out {
		key, value := r.ends[2*i], r.ends[2*i+1]
		out[i] = Record{Topic: r.topicName, Partition: ByKey}
		if r.key >= 0 && chunk.Column(r.key).IsValid(i) {
			out[i].Key = r.text[from:key:key]
		}
		if !r.isTombstone(chunk, i) {
			out[i].Value = r.text[key:value:value]
		}
		from = value
	}
	if err := r.route(chunk, out); err != nil {
		return nil, 0, err
	}
	if r.headers >= 0 {
		addHeaders(chunk.Column(r.headers).(*array.List), out)
	}
	return out, int64(len(r.text)), nil
}

// encode writes key and value of each row, and notes where they end.
func (r *recorder) encode(chunk arrow.RecordBatch, rows int) (err error) {
	rest := chunk
	if r.encoder != nil && len(r.rest) != int(chunk.NumCols()) {
		columns := make([]arrow.Array, len(r.rest))
		for i, c := range r.rest {
			columns[i] = chunk.Column(c)
		}
		rest = array.NewRecordBatch(r.restSchema, columns, chunk.NumRows())
		defer rest.Release()
	}
	buf := r.text[:0]
	r.ends = r.ends[:0]
	for i := range rows {
		if r.key >= 0 {
			buf = appendScalar(buf, chunk.Column(r.key), i)
		}
		r.ends = append(r.ends, int32(len(buf)))
		switch {
		case r.isTombstone(chunk, i):
		case r.encoder == nil:
			buf = appendScalar(buf, chunk.Column(r.value), i)
		default:
			if buf, err = r.encoder.AppendRow(buf, rest, i); err != nil {
				return errcode.KafkaSinkRecord.Wrap(err, r.topicName, "encode a row")
			}
		}
		r.ends = append(r.ends, int32(len(buf)))
		if len(buf) > maxChunk {
			return errcode.KafkaSinkRecord.New(r.topicName, "the records of one chunk have more than %d bytes", maxChunk)
		}
	}
	r.text = buf
	return nil
}

// maxChunk is far above what a chunk of batch.TargetBytes can grow to by encoding.
const maxChunk = 1 << 30

// isTombstone reports whether a row is a key without a value.
func (r *recorder) isTombstone(chunk arrow.RecordBatch, i int) bool {
	if r.operation >= 0 {
		if o := chunk.Column(r.operation).(*array.String); o.IsValid(i) && slices.ContainsFunc(r.deletes, func(d string) bool { return strings.EqualFold(d, o.Value(i)) }) {
			return true
		}
	}
	return r.value >= 0 && chunk.Column(r.value).IsNull(i)
}

// appendScalar appends the bytes of a STRING or BINARY, the digits of an integer, or nothing for null.
func appendScalar(buf []byte, a arrow.Array, i int) []byte {
	if a.IsNull(i) {
		return buf
	}
	switch a := a.(type) {
	case *array.String:
		return append(buf, a.Value(i)...)
	case *array.Binary:
		return append(buf, a.Value(i)...)
	}
	return strconv.AppendInt(buf, integer(a, i), 10)
}

func integer(a arrow.Array, i int) int64 {
	switch a := a.(type) {
	case *array.Int8:
		return int64(a.Value(i))
	case *array.Int16:
		return int64(a.Value(i))
	case *array.Int32:
		return int64(a.Value(i))
	case *array.Int64:
		return a.Value(i)
	}
	panic(fmt.Sprintf("kafka: a column of type %s is no integer", a.DataType())) // newLayout has refused it
}

// route sets topics and partitions that columns name.
func (r *recorder) route(chunk arrow.RecordBatch, out []Record) error {
	if r.topic >= 0 {
		topics := chunk.Column(r.topic).(*array.String)
		for i := range out {
			if topics.IsValid(i) {
				out[i].Topic = r.intern(topics.Value(i))
			}
		}
	}
	if r.partition < 0 {
		return nil
	}
	partitions := chunk.Column(r.partition)
	for i := range out {
		if partitions.IsNull(i) {
			continue
		}
		p := integer(partitions, i)
		if p < 0 || p > 1<<31-1 {
			return errcode.KafkaSinkRecord.New(out[i].Topic, "the partition column holds %d", p)
		}
		out[i].Partition = int32(p)
	}
	return nil
}

// intern copies a topic's name once: the column's memory is given back.
func (r *recorder) intern(topic string) string {
	if known, ok := r.names[topic]; ok {
		return known
	}
	own := string([]byte(topic))
	r.names[own] = own
	return own
}

// addHeaders copies the headers of each record.
func addHeaders(list *array.List, out []Record) {
	pairs := list.ListValues().(*array.Struct)
	keys, values := pairs.Field(0).(*array.String), pairs.Field(1).(*array.Binary)
	for i := range out {
		if list.IsNull(i) {
			continue
		}
		from, to := list.ValueOffsets(i)
		for k := int(from); k < int(to); k++ {
			h := Header{Key: string([]byte(keys.Value(k)))}
			if values.IsValid(k) {
				h.Value = append([]byte{}, values.Value(k)...)
			}
			out[i].Headers = append(out[i].Headers, h)
		}
	}
}
