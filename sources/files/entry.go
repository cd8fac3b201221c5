package files

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"microbatch/internal/errcode"
	"microbatch/objstore"
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

// line is one line of the seen-log. The field order is Spark's. A line of ours ends with the field crc: the CRC32C of all before it, because a name
// that has rotted would be a file not seen yet, whose rows come a second time. Spark ignores it, and its own lines have none.
type line struct {
	Path      string `json:"path"`
	Timestamp int64  `json:"timestamp"`
	BatchID   int64  `json:"batchId"`
	Size      *int64 `json:"size,omitempty"`
	ETag      string `json:"etag,omitempty"`
}

// renderLines are the lines of an entry.
func renderLines(r root, id int64, entry []file) ([][]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, f := range entry {
		if err := e.Encode(line{Path: r.uri(f.key), Timestamp: f.modified, BatchID: id, Size: &f.size, ETag: f.etag}); err != nil {
			return nil, fmt.Errorf("seen-log line of %s: %w", f.key, err)
		}
	}
	lines := bytes.Split(bytes.TrimSuffix(b.Bytes(), []byte("\n")), []byte("\n"))
	for i, text := range lines {
		if len(text) > 0 {
			lines[i] = sealLine(text)
		}
	}
	return lines, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const crcField = `,"crc":`

// sealLine adds the field crc to a line.
func sealLine(text []byte) []byte {
	body := text[:len(text)-1]
	return fmt.Appendf(nil, "%s%s%d}", body, crcField, crc32.Checksum(body, castagnoli))
}

// unsealLine checks the field crc and takes it off.
func unsealLine(text []byte) ([]byte, error) {
	at := bytes.LastIndex(text, []byte(crcField))
	if at < 0 {
		return text, nil
	}
	body, sum := text[:at], bytes.TrimSuffix(text[at+len(crcField):], []byte("}"))
	if want := strconv.FormatUint(uint64(crc32.Checksum(body, castagnoli)), 10); string(sum) != want {
		return nil, errcode.SeenLogDamaged.New("", "line %.80q: its checksum does not match", text)
	}
	return append(body[:at:at], '}'), nil
}

// parseLine reads a line of the seen-log and says which entry it belongs to.
func parseLine(r root, text []byte) (f file, id int64, err error) {
	if text, err = unsealLine(text); err != nil {
		return file{}, 0, err
	}
	l, ok := cutLine(string(text))
	if !ok {
		l = line{}
		if err := json.Unmarshal(text, &l); err != nil {
			return file{}, 0, errcode.SeenLogDamaged.Wrap(err, "", "line %.80q", text)
		}
	}
	key, ok := r.key(l.Path)
	if l.Path == "" {
		return file{}, 0, errcode.SeenLogDamaged.New("", "line %.80q names no file", text)
	}
	if !ok {
		return file{}, 0, errcode.SeenLogForeign.New("", "it names %s, which is not below %s", l.Path, r.text)
	}
	if err := objstore.ValidKey(key); err != nil { // no listing gives such a name
		return file{}, 0, errcode.SeenLogDamaged.Wrap(err, "", "line %.80q", text)
	}
	f = file{key: key, size: -1, modified: l.Timestamp, etag: l.ETag}
	if l.Size != nil {
		f.size = *l.Size
	}
	return f, l.BatchID, nil
}

// cutLine reads a line as it is usually written, without escapes and etag: a log of a million lines is read at each start.
func cutLine(text string) (l line, ok bool) {
	if strings.IndexByte(text, '\\') >= 0 {
		return l, false
	}
	text, ok = strings.CutPrefix(text, `{"path":"`)
	if l.Path, text, ok = strings.Cut(text, `","timestamp":`); !ok {
		return l, false
	}
	timestamp, text, _ := strings.Cut(text, `,"batchId":`)
	id, size, sized := strings.Cut(strings.TrimSuffix(text, "}"), `,"size":`)
	var faults [3]error
	l.Timestamp, faults[0] = strconv.ParseInt(timestamp, 10, 64)
	l.BatchID, faults[1] = strconv.ParseInt(id, 10, 64)
	if sized {
		var n int64
		n, faults[2] = strconv.ParseInt(size, 10, 64)
		l.Size = &n
	}
	return l, faults == [3]error{} && strings.IndexByte(l.Path, '"') < 0 && utf8.ValidString(l.Path)
}
