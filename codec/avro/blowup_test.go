package avro

import (
	"fmt"
	"strings"
	"testing"

	"microbatch/internal/errcode"
)

// doubled is the text of a record with a field x and one of n records, each of which holds the one before twice: 2^n of them in each message.
func doubled(n int) string {
	first := `{"type":"record","name":"R0","fields":[{"name":"z","type":"null"}]}`
	for i := range n {
		first = fmt.Sprintf(`{"type":"record","name":"R%d","fields":[{"name":"a","type":%s},{"name":"b","type":"R%d"}]}`, i+1, first, i)
	}
	return `{"type":"record","name":"Top","fields":[{"name":"x","type":"int"},{"name":"y","type":` + first + `}]}`
}

// A schema of two kilobytes that stands for a thousand million columns is refused at once, and so is a message of one byte by it whose columns are declared.
func TestRecordsThatHoldEachOtherTwice(t *testing.T) {
	s := parse(t, doubled(30))
	if c, err := s.Columns(); !errcode.Has(err, errcode.AvroColumns) || !strings.Contains(err.Error(), "declare the columns") {
		t.Errorf("%v, %v", c, err)
	}
	d := decoderOf(t, plain(t, s), columnsOf(t, "x INT"))
	if got := decoded(t, d, []byte{2}); !strings.Contains(got, errcode.RowLimit.ID) {
		t.Error(got)
	}

	few := parse(t, doubled(10))
	if _, err := few.Columns(); err != nil {
		t.Error(err)
	}
	if got := decoded(t, decoderOf(t, plain(t, few), columnsOf(t, "x INT")), []byte{2}); got != `{"x":1}` {
		t.Error(got)
	}
}
