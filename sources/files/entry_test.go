package files

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustRoot(t testing.TB, uri string) root {
	r, err := newRoot(uri)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLinesOfTheSeenLogComeBackAsTheyWere(t *testing.T) {
	entry := []file{
		{key: "a b/ü%.json", size: 12, modified: 1700000000123},
		{key: `q"\<&>` + "\n\xff", size: 1 << 40, modified: -1, etag: `"abc-2"`},
	}
	r := mustRoot(t, "s3://b/in")
	lines, err := renderLines(r, 7, entry)
	must0(t, err)
	for i, text := range lines {
		f, id, err := parseLine(r, text)
		must0(t, err)
		if d := cmp.Diff(entry[i], f, cmp.AllowUnexported(file{})); d != "" || id != 7 {
			t.Errorf("%s: id %d\n%s", text, id, d)
		}
	}
	if want := `{"path":"s3://b/in/a%20b/ü%25.json","timestamp":1700000000123,"batchId":7,"size":12,"crc":`; !strings.HasPrefix(string(lines[0]), want) {
		t.Errorf("%s\nwant %s...", lines[0], want)
	}
}

func TestEachFlippedBitOfALineOfTheSeenLogIsNoticedOrHarmless(t *testing.T) {
	r := mustRoot(t, "file:///in")
	planned := file{key: "a/b.json", size: 12, modified: 1700000000123, etag: `"x"`}
	lines, err := renderLines(r, 7, []file{planned})
	must0(t, err)
	for at := range lines[0] {
		for bit := range 8 {
			text := bytes.Clone(lines[0])
			text[at] ^= 1 << bit
			f, id, err := parseLine(r, text)
			if err == nil && (f != planned || id != 7) {
				t.Errorf("%s is read as %+v of entry %d", text, f, id)
			}
		}
	}
}

func TestALineWithoutChecksumIsReadAsSparkWroteIt(t *testing.T) {
	f, id, err := parseLine(mustRoot(t, "file:///in"), []byte(`{"path":"file:///in/a.json","timestamp":5,"batchId":2}`))
	must0(t, err)
	if want := (file{key: "a.json", size: -1, modified: 5}); f != want || id != 2 {
		t.Errorf("%+v of entry %d, want %+v of 2", f, id, want)
	}
}

func BenchmarkReadingTheSeenLog(b *testing.B) {
	r := mustRoot(b, "file:///data/in")
	lines, _ := renderLines(r, 7, []file{{key: "2026-01-01/part-00001-c0ffee.json", size: 123456, modified: 1700000000123}})
	seen := newSeenSet()
	for b.Loop() {
		f, _, err := parseLine(r, lines[0])
		if err != nil {
			b.Fatal(err)
		}
		f.key += fmt.Sprint(b.N)
		seen.add(f)
	}
}
