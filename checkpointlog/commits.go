package checkpointlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"microbatch/ident"
)

// Commits is an entry of commits/: its batch is done. Spark's CommitMetadata.
type Commits struct {
	NextWatermark time.Time     // zero without one
	Entry         ident.EntryID // who wrote it; zero if Spark did
}

type commitsJSON struct {
	NextWatermark int64                      `json:"nextBatchWatermarkMs"`
	StateIDs      json.RawMessage            `json:"stateUniqueIds,omitempty"`
	Sinks         map[string]json.RawMessage `json:"sinkMetadataMap,omitempty"`
	Entry         string                     `json:"microbatchEntry,omitempty"`
}

// Encode is the bytes of the entry, version 1.
func (c Commits) Encode() ([]byte, error) {
	out := commitsJSON{NextWatermark: millis(c.NextWatermark)}
	if !c.Entry.IsZero() {
		out.Entry = c.Entry.String()
	}
	text, err := marshalPlain(out)
	if err != nil {
		return nil, fmt.Errorf("commits entry: %w", err)
	}
	return append([]byte("v1\n"), text...), nil
}

// ParseCommits reads an entry of version 1 to 3. One that pins Spark's own state, or a second sink, is refused.
func ParseCommits(data []byte) (Commits, error) {
	if len(data) == 0 {
		return Commits{}, fmt.Errorf("the file is empty")
	}
	first, rest, _ := strings.Cut(string(data), "\n")
	if _, err := parseVersion(first, 3); err != nil {
		return Commits{}, err
	}
	if rest == "" { // as Spark wrote before 2.4
		return Commits{}, nil
	}
	var c commitsJSON
	if err := json.Unmarshal([]byte(rest), &c); err != nil {
		return Commits{}, fmt.Errorf("line 2: %w", err)
	}
	if len(c.StateIDs) > 0 && string(c.StateIDs) != "{}" && string(c.StateIDs) != "null" {
		return Commits{}, fmt.Errorf("it pins state of Spark (stateUniqueIds), which this program cannot continue")
	}
	if len(c.Sinks) > 1 {
		return Commits{}, fmt.Errorf("it names %d sinks: this program continues queries with one", len(c.Sinks))
	}
	out := Commits{NextWatermark: fromMillis(c.NextWatermark)}
	if c.Entry != "" {
		var err error
		if out.Entry, err = ident.ParseEntryID(c.Entry); err != nil {
			return Commits{}, fmt.Errorf("line 2: %w", err)
		}
	}
	return out, nil
}

// marshalPlain is json.Marshal without HTML escapes, as Spark writes its logs.
func marshalPlain(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
