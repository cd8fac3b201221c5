package translog

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/arrowparquet"
	"microbatch/table/action"
)

const (
	// checkpointRows is how many actions are turned into one Arrow record.
	checkpointRows = 1024
	// checkpointGroup is how many make a row group, which a reader holds at once. Who wants no list of files reads one of them.
	checkpointGroup = 2 << 10
)

// parquetEncoder makes checkpoints of the format delta.
type parquetEncoder struct {
	out  bytes.Buffer
	w    *arrowparquet.Writer
	rows *rowBuilder
}

func newParquetEncoder(s *State) (*parquetEncoder, error) {
	e := &parquetEncoder{}
	e.out.Grow(sizeBehind(s))
	schema := checkpointSchema()
	// Every reader of Delta reads this file, so nothing but what all of them know.
	o := arrowparquet.Options{Compression: arrowparquet.Snappy, Encoding: arrowparquet.Plain, RowGroupRows: checkpointGroup}
	var err error
	if e.w, err = arrowparquet.NewWriter(&e.out, schema, o); err != nil {
		return nil, err
	}
	e.rows = newRowBuilder(array.NewRecordBuilder(memory.DefaultAllocator, schema))
	return e, nil
}

func (e *parquetEncoder) add(a *action.Action) error {
	e.rows.append(a)
	if e.rows.rows < checkpointRows {
		return nil
	}
	return e.flush()
}

func (e *parquetEncoder) flush() error {
	rec := e.rows.take()
	defer rec.Release()
	return e.w.Write(rec)
}

func (e *parquetEncoder) close() ([]byte, error) {
	defer e.rows.Release()
	if err := e.flush(); err != nil {
		return nil, err
	}
	if _, err := e.w.Close(); err != nil {
		return nil, err
	}
	return e.out.Bytes(), nil
}

// jsonEncoder makes checkpoints of the format parquet.
type jsonEncoder struct {
	version int64
	data    []byte
	lines   int
}

// headRoom is kept free for the first line, which says how many there are.
const headRoom = 256

func newJSONEncoder(s *State) *jsonEncoder {
	return &jsonEncoder{version: s.Version, data: make([]byte, headRoom, headRoom+sizeBehind(s))}
}

// sizeBehind is about the size of the checkpoint of a state: a buffer that grows is there twice.
func sizeBehind(s *State) int { return int(s.checkpointBytes + s.checkpointBytes/16 + s.commitBytes) }

func (e *jsonEncoder) add(a *action.Action) (err error) {
	e.lines++
	e.data, err = action.AppendLine(e.data, a)
	return err
}

func (e *jsonEncoder) close() ([]byte, error) {
	head := action.Action{CheckpointMetadata: &action.CheckpointMetadata{Version: e.version, Tags: map[string]string{linesTag: strconv.Itoa(e.lines + 1)}}}
	first, err := action.AppendLine(nil, &head)
	if err != nil {
		return nil, err
	}
	if len(first) > headRoom {
		return nil, fmt.Errorf("a first line of %d bytes", len(first))
	}
	data := e.data[headRoom-len(first):]
	copy(data, first)
	return data, nil
}
