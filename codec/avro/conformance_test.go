package avro

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/codec"
	"microbatch/codec/codectest"
)

// allTypes are columns of every type that Avro has a counterpart for.
const allTypes = `b BOOLEAN, i8 TINYINT, i16 SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, x DECIMAL(10,2), w DECIMAL(38,5), s STRING, bin BINARY, dt DATE, ts TIMESTAMP, tn TIMESTAMP_NTZ,
	a ARRAY<STRING>, aa ARRAY<ARRAY<INT>>, m MAP<STRING, INT>, st STRUCT<x: INT, y: ARRAY<STRUCT<z: BOOLEAN, m: MAP<STRING, STRUCT<q: DOUBLE>>>>>`

func TestTheFormatConforms(t *testing.T) {
	columns := columnsOf(t, allTypes)
	s := derive(t, columns)
	good := randomMessages(t, columns, s, 60)
	bad := [][]byte{{}, {4}, {2}, {2, 2}, append(append([]byte(nil), good[0]...), 0), good[1][:len(good[1])-1]}
	c := codectest.MessagesCase{Format: plain(t, s), Schema: columns, Good: good, Bad: bad, Binary: true}
	codectest.Messages(t, c)
	t.Run("what the encoder writes is read back", func(t *testing.T) {
		codectest.Encoder(t, c, func(rows *arrow.Schema) (codec.Encoder, error) { return NewEncoder(s, rows) })
	})
}
