package checkpointlog

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"microbatch/ident"
)

// Keys of ours in the conf of an offsets entry. Spark carries them along unread.
const (
	confEntry       = "microbatch.entry"
	confFingerprint = "microbatch.fingerprint"
	confDelivery    = "microbatch.delivery"
	confSource      = "microbatch.source."
)

// atMostOnce is the value of confDelivery; without the key a batch is recorded after its rows are committed.
const atMostOnce = "at_most_once"

// Offsets is an entry of offsets/: the end of one batch in every source. Spark's OffsetSeq, versions 1 and 2.
type Offsets struct {
	Version   int       // 1 or 2; a new checkpoint has 1
	Timestamp time.Time // the batch's time, in milliseconds: what the transforms take for now
	Watermark time.Time // used by this batch; zero without one
	Conf      map[string]string
	Ends      []ident.Offset // one per source, in order; "" for a source that has not been read
	// SourceIDs are the names of the sources in a version 2 entry; nil in version 1.
	SourceIDs []string
	// sourceMetadata is carried along verbatim in version 2.
	sourceMetadata json.RawMessage
}

// offsetsMeta is line 2 of an entry (OffsetSeqMetadata).
type offsetsMeta struct {
	Watermark      int64             `json:"batchWatermarkMs"`
	Timestamp      int64             `json:"batchTimestampMs"`
	Conf           map[string]string `json:"conf"`
	SourceMetadata json.RawMessage   `json:"sourceMetadataInfo,omitempty"`
}

// Entry is who wrote the entry; zero if Spark did.
func (o *Offsets) Entry() (ident.EntryID, error) {
	text, ok := o.Conf[confEntry]
	if !ok {
		return ident.EntryID{}, nil
	}
	return ident.ParseEntryID(text)
}

// Fingerprint is the fingerprint of the pipeline that planned the batch; "" if Spark did.
func (o *Offsets) Fingerprint() string { return o.Conf[confFingerprint] }

// AtMostOnce reports whether the batch is recorded before its rows are committed, so that a crash in between loses them.
func (o *Offsets) AtMostOnce() bool { return o.Conf[confDelivery] == atMostOnce }

// MarkAtMostOnce notes that it is.
func (o *Offsets) MarkAtMostOnce() { o.Conf[confDelivery] = atMostOnce }

// Aux are the facts that source n wants to find again at a rerun; nil if there are none.
func (o *Offsets) Aux(n int) map[string]string {
	var aux map[string]string
	prefix := confSource + strconv.Itoa(n) + "."
	for k, v := range o.Conf {
		if name, ok := strings.CutPrefix(k, prefix); ok {
			if aux == nil {
				aux = map[string]string{}
			}
			aux[name] = v
		}
	}
	return aux
}

// Next is the entry of the following batch: it keeps version and conf of o (nil: the first batch), with our facts replaced.
func (o *Offsets) Next(entry ident.EntryID, fingerprint string, at time.Time, ends []ident.Offset, aux []map[string]string) *Offsets {
	next := &Offsets{Version: 1, Timestamp: at, Conf: map[string]string{}, Ends: ends}
	if o != nil {
		next.Version, next.SourceIDs, next.sourceMetadata, next.Watermark = o.Version, o.SourceIDs, o.sourceMetadata, o.Watermark
		for k, v := range o.Conf {
			if !strings.HasPrefix(k, "microbatch.") {
				next.Conf[k] = v
			}
		}
	}
	next.Conf[confEntry], next.Conf[confFingerprint] = entry.String(), fingerprint
	for n, facts := range aux {
		for k, v := range facts {
			next.Conf[confSource+strconv.Itoa(n)+"."+k] = v
		}
	}
	return next
}

// Encode is the bytes of the entry.
func (o *Offsets) Encode() ([]byte, error) {
	meta, err := marshalPlain(offsetsMeta{millis(o.Watermark), millis(o.Timestamp), o.Conf, o.sourceMetadata})
	if err != nil {
		return nil, fmt.Errorf("offsets entry: %w", err)
	}
	out := fmt.Appendf(nil, "v%d\n%s", o.Version, meta)
	for n, end := range o.Ends {
		out = append(out, '\n')
		if o.Version == 2 {
			out = append(out, o.sourceID(n)+":"...)
		}
		if end == "" {
			end = "-"
		}
		out = append(out, end...)
	}
	return out, nil
}

func (o *Offsets) sourceID(n int) string {
	if n < len(o.SourceIDs) {
		return o.SourceIDs[n]
	}
	return strconv.Itoa(n)
}

// ParseOffsets reads an entry. An error says what is wrong with it; a truncated entry is always an error.
func ParseOffsets(data []byte) (*Offsets, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("the file is empty")
	}
	lines := strings.Split(string(data), "\n")
	version, err := parseVersion(lines[0], 2)
	if err != nil {
		return nil, err
	}
	if len(lines) < 3 {
		return nil, fmt.Errorf("it ends after line %d: want a metadata line and an offset for each source", len(lines))
	}
	o := &Offsets{Version: version, Conf: map[string]string{}}
	if lines[1] != "" {
		var meta offsetsMeta
		if err := json.Unmarshal([]byte(lines[1]), &meta); err != nil {
			return nil, fmt.Errorf("line 2: %w", err)
		}
		o.Watermark, o.Timestamp, o.sourceMetadata = fromMillis(meta.Watermark), fromMillis(meta.Timestamp), meta.SourceMetadata
		maps.Copy(o.Conf, meta.Conf)
	} else if version == 2 {
		return nil, fmt.Errorf("line 2 is empty")
	}
	for i, line := range lines[2:] {
		if err := o.addLine(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+3, err)
		}
	}
	if _, err := o.Entry(); err != nil {
		return nil, fmt.Errorf("line 2: conf %s: %w", confEntry, err)
	}
	return o, nil
}

func (o *Offsets) addLine(line string) error {
	if o.Version == 2 {
		id, rest, ok := strings.Cut(line, ":")
		if !ok || id == "" || slices.Contains(o.SourceIDs, id) {
			return fmt.Errorf("%.40q: want <source id>:<offset>, each source once", line)
		}
		o.SourceIDs, line = append(o.SourceIDs, id), rest
	}
	switch {
	case line == "-":
		line = ""
	case line == "" || !json.Valid([]byte(line)):
		return fmt.Errorf("%.40q is no offset: want JSON or -", line)
	}
	o.Ends = append(o.Ends, ident.Offset(line))
	return nil
}

// parseVersion reads "v<n>" with n from 1 to newest.
func parseVersion(line string, newest int) (int, error) {
	text, ok := strings.CutPrefix(line, "v")
	n, err := strconv.Atoi(text)
	if !ok || err != nil || n < 1 {
		return 0, fmt.Errorf("line 1: %.20q: want v1", line)
	}
	if n > newest {
		return 0, fmt.Errorf("line 1: version %d is newer than this program understands (%d)", n, newest)
	}
	return n, nil
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
