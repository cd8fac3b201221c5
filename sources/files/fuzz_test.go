package files

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/heap"
	"microbatch/objstore"
)

// FuzzSeenLogLine: a line of the seen-log is damage or of another program, with a code, or a file below the source's folder whose own line names it again.
func FuzzSeenLogLine(f *testing.F) {
	r := mustRoot(f, "file:///in")
	lines, err := renderLines(r, 7, []file{{key: "a b/ü%.json", size: 12, modified: 1700000000123, etag: `"x"`}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(lines[0])
	for _, seed := range []string{
		`{"path":"file:///in/a","timestamp":1,"batchId":2,"size":3}`, `{"path":"file:/in/%zz"}`, `{"path":"file:///in/../etc/passwd","timestamp":1,"batchId":2}`,
		`{"path":"file:///in/%2e%2e/x","timestamp":1,"batchId":2}`, `{"path":"s3://other/in/a","timestamp":1,"batchId":2}`, `{"path":"file:///in/a","timestamp":1,"batchId":2,"crc":1}`,
		`{"path":"file:///in//a","timestamp":-9223372036854775808,"batchId":9223372036854775807,"size":-5}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		parsed, id, err := parseLine(r, text)
		if err != nil {
			if !errcode.Has(err, errcode.SeenLogDamaged) && !errcode.Has(err, errcode.SeenLogForeign) {
				t.Error(err)
			}
			return
		}
		if objstore.ValidKey(parsed.key) != nil {
			t.Fatalf("%q names the file %q", text, parsed.key)
		}
		lines, err := renderLines(r, id, []file{parsed})
		if err != nil {
			t.Fatal(err)
		}
		again, againID, err := parseLine(r, lines[0])
		if parsed.size < 0 {
			again.size = parsed.size // not known
		}
		if err != nil || again != parsed || againID != id {
			t.Errorf("%q: %+v, then %+v %v", text, parsed, again, err)
		}
	})
}

// FuzzOffset: an offset is refused with a code or is written as it was.
func FuzzOffset(f *testing.F) {
	for _, seed := range []string{`{"logOffset":7}`, `{"logOffset":-1}`, "", `{"logOffset":-2}`, `{"logOffset":007}`, `{"logOffset":9223372036854775808}`, `{"logOffset":+1}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseOffset(ident.Offset(text))
		if err != nil {
			if !errcode.Has(err, errcode.OffsetForeign) {
				t.Error(err)
			}
			return
		}
		if text != "" && string(formatOffset(n)) != text || n < -1 {
			t.Errorf("%q is %d", text, n)
		}
	})
}

// FuzzInflate: a compressed file of any bytes is damage, a bomb, or no more bytes than the limit; in memory bounded by the largest window.
func FuzzInflate(f *testing.F) {
	for _, content := range []string{"some text\n", strings.Repeat("x", 1<<20), ""} {
		f.Add(true, []byte(gzipped(content)))
		f.Add(false, []byte(zstded(f, content)))
	}
	f.Add(false, []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff, 0xff, 0xff}) // a window of terabytes
	f.Fuzz(func(t *testing.T, gz bool, data []byte) {
		kind, limit := "zst", int64(len(data))*2+1000
		if gz {
			kind = "gz"
		}
		heap.AtMost(t, 2*maxWindow+64<<20, kind, func() {
			in, err := newInflater(kind, bytes.NewReader(data), "x", limit)
			if err != nil {
				wantArchiveError(t, err)
				return
			}
			defer in.close()
			n, err := io.Copy(io.Discard, in)
			if n > limit {
				t.Fatalf("%d bytes came of %d, the limit is %d", n, len(data), limit)
			}
			if err != nil {
				wantArchiveError(t, err)
			}
		})
	})
}

func wantArchiveError(t *testing.T, err error) {
	t.Helper()
	if !errcode.Has(err, errcode.ArchiveDamaged) && !errcode.Has(err, errcode.FileBomb) || errors.Is(err, io.EOF) {
		t.Fatalf("neither damage nor a bomb: %v", err)
	}
}
