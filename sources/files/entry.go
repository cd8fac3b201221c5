package files

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"microbatch/internal/errcode"
)

// file is an input file as it was planned.
type file struct {
	key      string
	size     int64 // -1: not known, in an entry that Spark wrote
	modified int64 // ms since 1970
	etag     string
}

// changedFrom says how a file differs from what was planned; "" if it does not.
func (f file) changedFrom(planned file) string {
	switch {
	case planned.size >= 0 && f.size != planned.size:
		return fmt.Sprintf("it had %d bytes and has %d now", planned.size, f.size)
	case planned.etag != "" && f.etag != planned.etag:
		return fmt.Sprintf("its etag was %s and is %s now", planned.etag, f.etag)
	case planned.etag == "" && f.modified != planned.modified:
		return fmt.Sprintf("it was modified at %s and again at %s", moment(planned.modified), moment(f.modified))
	}
	return ""
}

func moment(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// line is one line of the seen-log. The field order is Spark's.
type line struct {
	Path      string `json:"path"`
	Timestamp int64  `json:"timestamp"`
	BatchID   int64  `json:"batchId"`
	Size      *int64 `json:"size,omitempty"`
	ETag      string `json:"etag,omitempty"`
}

// renderLines are the lines of an entry.
func renderLines(root string, id int64, entry []file) ([][]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, f := range entry {
		if err := e.Encode(line{Path: uri(root, f.key), Timestamp: f.modified, BatchID: id, Size: &f.size, ETag: f.etag}); err != nil {
			return nil, fmt.Errorf("seen-log line of %s: %w", f.key, err)
		}
	}
	return bytes.Split(bytes.TrimSuffix(b.Bytes(), []byte("\n")), []byte("\n")), nil
}

// parseLine reads a line of the seen-log and says which entry it belongs to.
func parseLine(root string, text []byte) (f file, id int64, err error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return file{}, 0, errcode.SeenLogDamaged.Wrap(err, "", "line %.80q", text)
	}
	key, ok := keyOf(root, l.Path)
	if !ok {
		return file{}, 0, errcode.SeenLogForeign.New("", "it names %s, which is not below %s", l.Path, root)
	}
	f = file{key: key, size: -1, modified: l.Timestamp, etag: l.ETag}
	if l.Size != nil {
		f.size = *l.Size
	}
	return f, l.BatchID, nil
}
