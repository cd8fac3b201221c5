package arrowparquet

import (
	"encoding/binary"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// A few bytes that claim a lot must be found out before memory is taken for it.
func TestClaimsBeyondTheInputAreFoundOut(t *testing.T) {
	huge := binary.AppendUvarint(nil, 1<<31-1)
	for name, b := range map[string][]byte{
		"a list of 2^31 structs":              append([]byte{0x49, 0xfc}, huge...),
		"a string of 2^31 bytes":              append([]byte{0x68}, huge...),
		"a map of 2^31 entries":               append(append([]byte{0x6b}, huge...), 0x88, 1, 2),
		"structs without end":                 []byte{0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c, 0x1c},
		"an unknown type":                     {0x1d, 0},
		"nothing":                             {},
		"column chunks of less than 16 bytes": append([]byte{0x49, 0x1c, 0x19, 0xfc, 200}, make([]byte, 250)...),
	} {
		if _, err := checkThrift(b); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	for name, b := range map[string][]byte{
		"a run longer than the page":       {0xfe, 0xff, 0xff, 0xff, 0x0f, 1},
		"packed values that are not there": {0x81, 0x01, 1, 2, 3},
		"a header that does not end":       {0xff, 0xff},
		"nothing":                          {},
	} {
		if _, err := checkRuns(b, 3, 100); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := checkRuns([]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, 0, 100); err == nil {
		t.Error("packed values of no width, without end, were accepted")
	}
	for name, b := range map[string][]byte{
		"more values than the page has":  {128, 1, 4, 0xff, 0xff, 3, 0},
		"a width of 200 bits":            append([]byte{128, 1, 4, 100, 0, 0, 200, 200, 200, 200}, make([]byte, 5000)...),
		"a block size of no multiple":    {100, 4, 100, 0},
		"no mini-blocks":                 {128, 1, 0, 100, 0},
		"mini-blocks that are not there": {128, 1, 4, 100, 0, 0, 32, 32, 32, 32, 1},
		"nothing":                        {},
	} {
		if _, _, err := checkDelta(b, 32, 100); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// What is right passes, to its last byte.
func TestHonestBytesPass(t *testing.T) {
	h := format.PageHeader{Type: format.DataPage, UncompressedPageSize: 10, CompressedPageSize: 5}
	h.DataPageHeader = thrift.New(format.DataPageHeader{NumValues: 3})
	b, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := checkThrift(append(b, "what follows"...)); err != nil || n != len(b) {
		t.Errorf("a header of %d bytes: %d, %v", len(b), n, err)
	}
	for _, n := range []int{0, 1, 2, 128, 129, 1000} {
		values := make([]int64, n)
		for i := range values {
			values[i] = int64(i*i) * 1_000_003
		}
		packed, err := new(delta.BinaryPackedEncoding).EncodeInt64(nil, values)
		if err != nil {
			t.Fatal(err)
		}
		got, rest, err := checkDelta(append(packed, "rest"...), 64, n)
		if err != nil || len(got) != len(packed) || string(rest) != "rest" {
			t.Errorf("%d values in %d bytes: %d, %q, %v", n, len(packed), len(got), rest, err)
		}
	}
}

func TestDecimalsTakeTheFewestBytes(t *testing.T) {
	for precision, want := range map[int32]int{1: 1, 2: 1, 3: 2, 9: 4, 10: 5, 18: 8, 19: 9, 20: 9, 38: 16} {
		if got := decimalWidth(precision); got != want {
			t.Errorf("DECIMAL(%d): %d bytes, want %d", precision, got, want)
		}
	}
}
