package codectest

import (
	"bytes"
	"math/rand"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"microbatch/codec"
)

// MessagesCase is a format of messages, and messages of it.
type MessagesCase struct {
	Format codec.Messages
	Schema *arrow.Schema // declared; all columns nullable
	Good   [][]byte
	Bad    [][]byte // each is rejected
	Binary bool     // a message is bytes of any kind, not a line of text
}

// Messages runs the suite for a format of messages.
func Messages(t *testing.T, c MessagesCase) {
	t.Run("a record has the schema Output says", func(t *testing.T) {
		want, err := c.Format.Output(c.Schema)
		if err != nil {
			t.Fatal(err)
		}
		withDecoder(t, c, func(d codec.Decoder) {
			for range 2 { // without rows, and with one
				record := d.Flush()
				if !record.Schema().Equal(want) {
					t.Errorf("(D4) the record has the schema %v, not %v", record.Schema(), want)
				}
				record.Release()
				if err := d.Decode(c.Good[0]); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
	t.Run("a rejected row leaves no trace", func(t *testing.T) {
		alone := decodeAll(t, c, c.Good)
		var mixed [][]byte
		for i, good := range c.Good {
			mixed = append(mixed, c.Bad[i%len(c.Bad)], good)
		}
		mixed = append(mixed, c.Bad...)
		if diff := cmp.Diff(alone, decodeAll(t, c, mixed)); diff != "" {
			t.Errorf("(D2) good rows alone, and between bad ones:\n%s", diff)
		}
	})
	t.Run("an outcome does not depend on the rows before", func(t *testing.T) {
		all := decodeAll(t, c, c.Good)
		for i, good := range c.Good {
			if diff := cmp.Diff(all[i:i+1], decodeAll(t, c, [][]byte{good})); diff != "" {
				t.Errorf("(D1) %q in a row of messages, and alone:\n%s", good, diff)
			}
		}
	})
	t.Run("a message without a value is a row of nulls", func(t *testing.T) {
		withDecoder(t, c, func(d codec.Decoder) {
			if err := d.Decode(nil); err != nil {
				t.Fatal(err)
			}
			record := d.Flush()
			defer record.Release()
			for _, col := range record.Columns() {
				if col.Len() != 1 || !col.IsNull(0) {
					t.Errorf("%v is not one null", col)
				}
			}
		})
	})
	t.Run("a record keeps nothing of the message", func(t *testing.T) {
		withDecoder(t, c, func(d codec.Decoder) {
			msg := bytes.Clone(c.Good[0])
			if err := d.Decode(msg); err != nil {
				t.Fatal(err)
			}
			clear(msg)
			record := d.Flush()
			defer record.Release()
			if diff := cmp.Diff(decodeAll(t, c, c.Good[:1]), rowsOf(record)); diff != "" {
				t.Error(diff)
			}
		})
	})
	t.Run("rows and bytes count up, and begin anew behind a flush", func(t *testing.T) {
		withDecoder(t, c, func(d codec.Decoder) {
			for range 2 {
				for i, good := range c.Good {
					before := d.Bytes()
					if err := d.Decode(good); err != nil {
						t.Fatal(err)
					}
					if d.Rows() != i+1 || d.Bytes() <= before {
						t.Errorf("%d rows and %d bytes behind %d rows and %d bytes", d.Rows(), d.Bytes(), i, before)
					}
				}
				d.Flush().Release()
				if d.Rows() != 0 || d.Bytes() != 0 {
					t.Errorf("%d rows and %d bytes behind a flush", d.Rows(), d.Bytes())
				}
			}
		})
	})
	t.Run("spoiled messages do no harm", func(t *testing.T) {
		rng := rand.New(rand.NewSource(1))
		withDecoder(t, c, func(d codec.Decoder) {
			for range 5000 {
				msg := bytes.Clone(c.Good[rng.Intn(len(c.Good))])
				switch i := rng.Intn(len(msg) + 1); rng.Intn(3) {
				case 0:
					msg = msg[:i]
				case 1:
					msg = append(msg, msg[:i]...)
				default:
					if i < len(msg) {
						msg[i] = byte(rng.Intn(256))
					}
				}
				rows := d.Rows()
				if rejected := isReject(t, d.Decode(msg)); rejected == (d.Rows() == rows+1) {
					t.Fatalf("(D1) %q: rejected %v, and %d rows behind %d", msg, rejected, d.Rows(), rows)
				}
			}
			d.Flush().Release()
		})
	})
}

// withDecoder runs f with a decoder on checked memory.
func withDecoder(t *testing.T, c MessagesCase, f func(codec.Decoder)) {
	t.Helper()
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer alloc.AssertSize(t, 0)
	d, err := c.Format.NewDecoder(c.Schema, alloc)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	f(d)
}

// decodeAll is the rows of messages.
func decodeAll(t *testing.T, c MessagesCase, messages [][]byte) (rows []string) {
	t.Helper()
	withDecoder(t, c, func(d codec.Decoder) {
		for _, msg := range messages {
			isReject(t, d.Decode(msg))
		}
		record := d.Flush()
		defer record.Release()
		rows = rowsOf(record)
	})
	return rows
}

// Encoder checks that what an encoder writes for rows is decoded to the same rows: the messages are decoded, encoded, and decoded again.
func Encoder(t *testing.T, c MessagesCase, newEncoder func(*arrow.Schema) (codec.Encoder, error)) {
	e, err := newEncoder(c.Schema)
	if err != nil {
		t.Fatal(err)
	}
	var encoded [][]byte
	withDecoder(t, c, func(d codec.Decoder) {
		for _, msg := range append([][]byte{nil}, c.Good...) {
			if err := d.Decode(msg); err != nil {
				t.Fatal(err)
			}
		}
		record := d.Flush()
		defer record.Release()
		for i := range int(record.NumRows()) {
			text, err := e.AppendRow([]byte("before"), record, i)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(text, []byte("before")) || !c.Binary && bytes.ContainsRune(text, '\n') {
				t.Errorf("%q is not one line behind what was there", text)
			}
			encoded = append(encoded, text[len("before"):])
		}
	})
	if diff := cmp.Diff(decodeAll(t, c, append([][]byte{nil}, c.Good...)), decodeAll(t, c, encoded)); diff != "" {
		t.Errorf("rows, and rows encoded and decoded again:\n%s", diff)
	}
}
