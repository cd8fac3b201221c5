package kafka

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/codec"
	"microbatch/internal/errcode"
)

// byKey is the partition of a record that goes where its key says.
const byKey = -1

// recorder makes records of rows. It is used by one goroutine.
type recorder struct {
	layout
	topicName string
	encoder   codec.Encoder // nil: raw

	ends     []int32 // of key and value of each row, in bytes
	previous int     // bytes of the last chunk
	names    map[string]string
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

// records are the rows of a chunk. All of a chunk share one piece of memory for their bytes and one for themselves, and keep nothing of the chunk.
func (r *recorder) records(chunk arrow.RecordBatch) (out []kgo.Record, bytes int64, err error) {
	rows := int(chunk.NumRows())
	buf, err := r.text(chunk, rows)
	if err != nil {
		return nil, 0, err
	}
	out = make([]kgo.Record, rows)
	from := int32(0)
	for i := range out {
		rec := &out[i]
		key, value := r.ends[2*i], r.ends[2*i+1]
		rec.Topic, rec.Partition = r.topicName, byKey
		if r.key >= 0 && chunk.Column(r.key).IsValid(i) {
			rec.Key = buf[from:key:key]
		}
		if !r.isTombstone(chunk, i) {
			rec.Value = buf[key:value:value]
		}
		from = value
	}
	if err := r.route(chunk, out); err != nil {
		return nil, 0, err
	}
	if r.headers >= 0 {
		addHeaders(chunk.Column(r.headers).(*array.List), out)
	}
	return out, int64(len(buf)), nil
}

// text appends key and value of each row to a fresh piece of memory, and notes where they end.
func (r *recorder) text(chunk arrow.RecordBatch, rows int) (buf []byte, err error) {
	rest := chunk
	if r.encoder != nil && len(r.rest) != int(chunk.NumCols()) {
		columns := make([]arrow.Array, len(r.rest))
		for i, c := range r.rest {
			columns[i] = chunk.Column(c)
		}
		rest = array.NewRecordBatch(r.restSchema, columns, chunk.NumRows())
		defer rest.Release()
	}
	buf, r.ends = make([]byte, 0, r.previous+r.previous/8), r.ends[:0]
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
				return nil, errcode.KafkaSinkRecord.Wrap(err, r.topicName, "encode a row")
			}
		}
		r.ends = append(r.ends, int32(len(buf)))
		if len(buf) > maxChunk {
			return nil, errcode.KafkaSinkRecord.New(r.topicName, "the records of one chunk have more than %d bytes", maxChunk)
		}
	}
	r.previous = len(buf)
	return buf, nil
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
func (r *recorder) route(chunk arrow.RecordBatch, out []kgo.Record) error {
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
func addHeaders(list *array.List, out []kgo.Record) {
	pairs := list.ListValues().(*array.Struct)
	keys, values := pairs.Field(0).(*array.String), pairs.Field(1).(*array.Binary)
	for i := range out {
		if list.IsNull(i) {
			continue
		}
		from, to := list.ValueOffsets(i)
		for k := int(from); k < int(to); k++ {
			h := kgo.RecordHeader{Key: string([]byte(keys.Value(k)))}
			if values.IsValid(k) {
				h.Value = append([]byte{}, values.Value(k)...)
			}
			out[i].Headers = append(out[i].Headers, h)
		}
	}
}

// partitioner sends a record to the partition that its row names, and else by the murmur2 hash of its key, as Kafka's own clients do; without a key to whichever
// partition the batch under way goes to.
func partitioner() kgo.Partitioner { return partitioning{kgo.StickyKeyPartitioner(nil)} }

type partitioning struct{ kgo.Partitioner }

// ForTopic implements kgo.Partitioner.
func (p partitioning) ForTopic(topic string) kgo.TopicPartitioner {
	return &topicPartitioning{TopicPartitioner: p.Partitioner.ForTopic(topic)}
}

type topicPartitioning struct{ kgo.TopicPartitioner }

// RequiresConsistency reports whether the record may go to one partition only, also while that one cannot be written to.
func (p *topicPartitioning) RequiresConsistency(r *kgo.Record) bool {
	return r.Partition != byKey || p.TopicPartitioner.RequiresConsistency(r)
}

// Partition implements kgo.TopicPartitioner.
func (p *topicPartitioning) Partition(r *kgo.Record, n int) int {
	if r.Partition != byKey {
		return int(r.Partition)
	}
	return p.TopicPartitioner.Partition(r, n)
}

// OnNewBatch lets records without key go on to another partition.
func (p *topicPartitioning) OnNewBatch() {
	if o, ok := p.TopicPartitioner.(kgo.TopicPartitionerOnNewBatch); ok {
		o.OnNewBatch()
	}
}
