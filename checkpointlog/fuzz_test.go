package checkpointlog

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"microbatch/ident"
	"microbatch/objstore/mem"
)

// sameOffsets compares entries; what is carried along verbatim may be written with other spaces.
func sameOffsets(a, b *Offsets) string {
	return cmp.Diff(a, b, cmpopts.IgnoreUnexported(Offsets{}), cmpopts.EquateEmpty())
}

// FuzzParseOffsets: an entry of offsets/ is an error or is written again as an entry of equal value; and the next batch's entry, which carries along what
// this one holds, can be read too.
func FuzzParseOffsets(f *testing.F) {
	for _, seed := range []string{
		"v1\n{}\n1", "v2\n{}\n0:{\"a\":{\"0\":1}}", "v1\n\n{\"t\":{\"0\":1}}\n-",
		"v1\n" + `{"batchWatermarkMs":0,"batchTimestampMs":1645693802625,"conf":{"spark.sql.shuffle.partitions":"5","microbatch.entry":"3.ab"}}` + "\n" + `{"logOffset":7}`,
		"v2\n" + `{"batchWatermarkMs":0,"batchTimestampMs":-1,"conf":{},"sourceMetadataInfo":{"0":{"sourceId":"0"}}}` + "\n" + `0:{"events":{"0":120}}` + "\nmySource:-",
		"v1\n" + `{"batchWatermarkMs":9223372036854775807,"batchTimestampMs":-62135596800000,"conf":{"a":null}}` + "\n" + strings.Repeat("[", 500) + strings.Repeat("]", 500),
		"v1\n{\"conf\":{\"microbatch.source.0.topic\":\"\\u2028<>&\"}}\n\"\\ud800\"",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := ParseOffsets(data)
		if err != nil {
			return
		}
		text, err := o.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseOffsets(text)
		if err != nil {
			t.Fatalf("%q was read, and written as %q, which is not: %v", data, text, err)
		}
		if diff := sameOffsets(o, again); diff != "" {
			t.Fatalf("%q is written as %q\n%s", data, text, diff)
		}
		if second, err := again.Encode(); err != nil || !bytes.Equal(text, second) {
			t.Fatalf("%q is written as %q, and then as %q, %v", data, text, second, err)
		}
		next, err := o.Next(ident.EntryID{Epoch: 1, Run: "r"}, "f", time.UnixMilli(5), o.Ends, nil).Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseOffsets(next); err != nil {
			t.Fatalf("after %q comes %q, which cannot be read: %v", data, next, err)
		}
	})
}

// FuzzOwnOffsets: what this program writes is read as it was, and written again byte for byte; cut anywhere it is an error.
func FuzzOwnOffsets(f *testing.F) {
	f.Add(int64(3), "ab12", "f1", int64(1700000000123), `{"t":{"0":5}}`, "topic", "x", uint16(9))
	f.Add(int64(1), "r", "", int64(0), `-`, "a.b", "\x00\u2028\"", uint16(0))
	f.Fuzz(func(t *testing.T, epoch int64, run, fingerprint string, ms int64, end, name, value string, cut uint16) {
		entry := ident.EntryID{Epoch: ident.Epoch(epoch), Run: ident.RunID(run)}
		if parsed, err := ident.ParseEntryID(entry.String()); err != nil || parsed != entry {
			return // no entry id of ours
		}
		offset := ident.Offset(end)
		if (&Offsets{Version: 1}).addLine(end) != nil || strings.Contains(end, "\n") {
			offset = ""
		}
		if end == "-" {
			offset = ""
		}
		for _, text := range []string{run, fingerprint, name, value} {
			if !utf8.ValidString(text) {
				return
			}
		}
		own := (*Offsets)(nil).Next(entry, fingerprint, time.UnixMilli(ms).UTC(), []ident.Offset{offset, ""}, []map[string]string{{name: value}, nil})
		text, err := own.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseOffsets(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if id, err := back.Entry(); err != nil || id != entry || back.Fingerprint() != fingerprint || back.Aux(0)[name] != value || !cmp.Equal(back.Ends, own.Ends) {
			t.Fatalf("%q is read as %+v", text, back)
		}
		if again, err := back.Encode(); err != nil || !bytes.Equal(again, text) {
			t.Fatalf("%q is written again as %q, %v", text, again, err)
		}
		if at := int(cut) % len(text); at < bytes.LastIndexByte(text, '\n') {
			if short, err := ParseOffsets(text[:at]); err == nil && len(short.Ends) == len(own.Ends) {
				t.Fatalf("cut to %q the entry passes as whole", text[:at])
			}
		}
	})
}

// FuzzParseCommits: an entry of commits/ is an error or is written again as an entry of equal value.
func FuzzParseCommits(f *testing.F) {
	for _, seed := range []string{
		"v1", "v1\n{}", "v1\n" + `{"nextBatchWatermarkMs":0,"microbatchEntry":"2.r"}`, "v3\n" + `{"nextBatchWatermarkMs":5,"sinkMetadataMap":{"a":{}}}`,
		"v2\n" + `{"nextBatchWatermarkMs":0,"stateUniqueIds":{}}`, "v1\n" + `{"nextBatchWatermarkMs":-62135596800000}`, "v1\n" + `{"microbatchEntry":"9223372036854775807.x"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseCommits(data)
		if err != nil {
			return
		}
		text, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseCommits(text)
		if err != nil || again != c {
			t.Fatalf("%q is written as %q, which is %+v and not %+v, %v", data, text, again, c, err)
		}
	})
}

// FuzzSealed: whatever stands in the files that are ours alone and in metadata, under whatever names, is read or is damage that names the file.
func FuzzSealed(f *testing.F) {
	epoch, err := Seal(Epoch{Epoch: 3, Entry: "3.ab", Pipeline: "p", Identity: map[string]any{"sources": []any{"x"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(epoch, []byte(`{"id":"11111111-2222-3333-4444-555555555555"}`), "3")
	f.Add([]byte("v1\n"+strings.Repeat(`{"identity":`, 200)+"\n00000000"), []byte(`{"id":"../../x"}`), "9223372036854775807")
	f.Add([]byte("v1\nnull\n5ad7ad18"), []byte(`{"id":1e400}`), "+1")
	f.Add([]byte("v2\n{}\n"), []byte(`{`), "01")
	f.Fuzz(func(t *testing.T, sealed, metadata []byte, name string) {
		ctx := t.Context()
		if lines := strings.Split(string(sealed), "\n"); len(lines) == 3 { // checksums are of no interest here
			sealed = fmt.Appendf(nil, "%s\n%s\n%08x", lines[0], lines[1], crc32.Checksum([]byte(lines[1]), castagnoli))
		}
		store := mem.New()
		c := NewCheckpoint(store)
		for key, data := range map[string][]byte{"metadata": metadata, epochDir + name: sealed, lowWatermarkDir + name: sealed, epochDir + "7": sealed} {
			_ = store.Put(ctx, key, data) // a name that is no key is not there
		}
		if id, err := c.QueryID(ctx); err == nil && !queryIDForm.MatchString(string(id)) {
			t.Fatalf("the id %q", id)
		} else if damaged := (Damaged{}); err != nil && !errors.As(err, &damaged) {
			t.Fatal(err)
		}
		if low, err := c.LowWatermark(ctx); err != nil || low != ident.NoBatch && low.String() != name {
			t.Fatalf("%q is the low watermark %d, %v", name, low, err)
		}
		newest, err := c.NewestEpoch(ctx)
		if err != nil || newest < 7 {
			t.Fatalf("the newest epoch is %d, %v", newest, err)
		}
		if e, err := c.ReadEpoch(ctx, 7); err == nil {
			if _, err := Seal(e); err != nil {
				t.Fatal(err)
			}
		} else if damaged := (Damaged{}); !errors.As(err, &damaged) || damaged.Key != epochDir+"7" {
			t.Fatal(err)
		}
	})
}

// FuzzCompactLog: a numbered log of any files is read or is an error; an entry that can be appended stands in it afterwards.
func FuzzCompactLog(f *testing.F) {
	f.Add("0", []byte("v1\n{}"), "9.compact", []byte("v1\n{}\n{}"))
	f.Add("9223372036854775807", []byte("v1"), "9223372036854775806.compact", []byte("v1\n\n"))
	f.Add("10", []byte("v2\n{}"), "19.compact", []byte("v1{}"))
	f.Fuzz(func(t *testing.T, name1 string, data1 []byte, name2 string, data2 []byte) {
		ctx := t.Context()
		store := mem.New()
		_, _ = store.Put(ctx, name1, data1), store.Put(ctx, name2, data2)
		lines := 0
		l, err := OpenCompact(ctx, store, 10, func([]byte) error { lines++; return nil })
		if err != nil || l.Last() > 1<<40 {
			return
		}
		if _, err := l.Append(ctx, [][]byte{[]byte(`{"path":"x"}`)}); err != nil {
			return // a hole before it, or a name that is taken
		}
		again := 0
		if _, err := OpenCompact(ctx, store, 10, func([]byte) error { again++; return nil }); err != nil || again != lines+1 {
			t.Fatalf("%d lines were %d before one was appended, %v", again, lines, err)
		}
	})
}
