package json

import (
	"math/rand"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TestStringsAreEncodedByWordAsByByte: anything special, anywhere, in strings of any length.
func TestStringsAreEncodedByWordAsByByte(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	special := []string{"\"", "\\", "\n", "\x00", "\x1f", "\x7f", " ", "!", "#", "[", "]", "é", "日本", "😀", "\xff", "\xc3", "\u2028"}
	for n := range 40 {
		for range 500 {
			text := make([]byte, n)
			for i := range text {
				text[i] = byte(' ' + rng.Intn(95))
				if text[i] == '"' || text[i] == '\\' {
					text[i] = 'x'
				}
			}
			for range rng.Intn(3) {
				at := rng.Intn(n + 1)
				text = append(text[:at:at], append([]byte(special[rng.Intn(len(special))]), text[at:]...)...)
			}
			before := make([]byte, 6, 6+rng.Intn(60))
			want := string(appendEscaped(append(before, '"'), string(text)))
			if got := string(appendString(append([]byte{}, before...), string(text))); got != want {
				t.Fatalf("%q: %s, want %s", text, got, want)
			}
		}
	}
}

// TestRecordsOfOneEncoderDoNotMix: what is bound is that of the record at hand.
func TestRecordsOfOneEncoderDoNotMix(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer alloc.AssertSize(t, 0)
	d, err := New(Options{}).NewDecoder(eventSchema(), alloc)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	e, err := NewEncoder(eventSchema())
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range [][]string{
		{`{"id":1,"amount":2.5,"url":"a"}`, `{}`, `{"user_id":-7,"url":"b"}`},
		{`{"id":9,"user_id":8,"event":"c"}`, `{"ts":"2024-05-01T12:00:00Z"}`},
	} {
		for _, row := range rows {
			if err := d.Decode([]byte(row)); err != nil {
				t.Fatal(err)
			}
		}
		record := d.Flush()
		for i, row := range rows {
			if text, err := e.AppendRow(nil, record, i); err != nil || string(text) != row {
				t.Errorf("%s, want %s (%v)", text, row, err)
			}
		}
		record.Release()
	}
}
