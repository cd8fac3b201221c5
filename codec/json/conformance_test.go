package json

import (
	"bytes"
	"fmt"
	"testing"

	"microbatch/codec/codectest"
)

func messagesCase() codectest.MessagesCase {
	c := codectest.MessagesCase{Schema: fuzzSchema(), Good: events(50, false, true)}
	c.Schema = eventSchema()
	c.Good = append(c.Good, []byte(`{}`), []byte(`{"id":null,"other":{"a":[1]}}`), []byte(`{"event":"q\"\u00e9\n","country":17}`))
	c.Bad = [][]byte{{}, []byte(`{"id":1`), []byte(`{"event":"x","url":"y","id":"1"}`), []byte(`{"id":1,"event":"x"}x`), []byte(`[]`)}
	return c
}

func TestMessagesConform(t *testing.T) {
	for name, options := range map[string]Options{"unknown fields ignored": {}, "unknown fields rescued": {Rescue: "_rescued"}} {
		t.Run(name, func(t *testing.T) {
			c := messagesCase()
			c.Format = New(options)
			codectest.Messages(t, c)
		})
	}
}

func TestEncoderConforms(t *testing.T) {
	c := messagesCase()
	c.Format = New(Options{})
	codectest.Encoder(t, c, NewEncoder)

	c.Schema, c.Good = nullableFuzzSchema(t), [][]byte{[]byte(everyType), []byte(`{"f":"NaN","d":"-INF","x":-0.01,"m":{"\"\n":1},"l":[],"k":{},"ls":[null,{}],"st":{"b":{}}}`)}
	codectest.Encoder(t, c, NewEncoder)
}

func TestFilesConform(t *testing.T) {
	var text bytes.Buffer
	rejected := 0
	rows := events(200, true, false)
	for i, row := range rows {
		switch i % 50 {
		case 7:
			text.WriteString("\n \t\n\r\n") // blank lines are no rows
		case 13:
			row = append([]byte("x"), row...)
			rejected++
		case 17:
			row = append(row, '\r')
		case 23:
			row = []byte(fmt.Sprintf(`{"id":"%d"}`, i))
			rejected++
		}
		text.Write(row)
		if i < len(rows)-1 { // the last line has no end
			text.WriteByte('\n')
		}
	}
	codectest.Files(t, codectest.FilesCase{
		Format: NewFiles(Options{}), Schema: eventSchema(), Good: text.Bytes(), Rows: len(rows), Rejected: rejected, Streams: true,
		Targets: []int64{5000, 1, 7, 199, 4096},
		Hostile: [][]byte{nil, []byte("\n"), []byte("\n\n"), []byte("{"), bytes.Repeat([]byte("["), 100_000), bytes.Repeat([]byte(`{"a":`), 100_000), bytes.Repeat([]byte{0}, 1000),
			bytes.Repeat([]byte{0xff}, 1000), []byte("\xef\xbb\xbf"), []byte("\xef\xbb\xbf{}")},
	})
}
