package checkpointlog

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"microbatch/ident"
	"microbatch/internal/errcode"
)

// TestRecover runs testdata/recover: logs and sinks as a line of numbers, the decision below it.
func TestRecover(t *testing.T) {
	datadriven.RunTest(t, "testdata/recover", func(t *testing.T, d *datadriven.TestData) string {
		logs := Logs{LowWatermark: ident.NoBatch}
		visible := Visible{Sink: "the table", Batch: ident.NoBatch}
		var rejected *Visible
		starting := true
		var recordedFirst []ident.BatchID
		for _, arg := range d.CmdArgs {
			switch arg.Key {
			case "offsets":
				logs.Offsets = ids(t, arg.Vals)
			case "commits":
				logs.Commits = ids(t, arg.Vals)
			case "low":
				logs.LowWatermark = ids(t, arg.Vals)[0]
			case "table":
				visible = seenBatch(t, arg.Vals, "the table")
			case "rejected":
				r := seenBatch(t, arg.Vals, "the rejected table")
				rejected = &r
			case "no-ids":
				visible.Exempt = true
			case "running":
				starting = false
			case "at-most-once":
				recordedFirst = ids(t, arg.Vals)
			default:
				t.Fatalf("unknown argument %s", arg.Key)
			}
		}
		if above := above(logs.Offsets, logs.LowWatermark); len(above) > 0 {
			last := above[len(above)-1]
			logs.Last = entryOf(last)
			for _, id := range logs.Offsets {
				if id == last-1 {
					logs.Previous = entryOf(id)
				}
			}
		}
		for _, e := range []*Entry{logs.Last, logs.Previous} {
			if e != nil && slices.Contains(recordedFirst, e.ID) {
				e.Offsets.MarkAtMostOnce()
			}
		}
		p, err := Recover(logs, visible, rejected, starting)
		if err != nil {
			e, ok := errors.AsType[*errcode.Error](err)
			if !ok {
				t.Fatalf("an error without a code: %v", err)
			}
			return e.Code.Class.String() + ": " + err.Error() + "\n"
		}
		out := []string{[]string{"fresh", "rerun", "next"}[p.Kind] + " " + p.ID.String()}
		if p.Visible {
			out = append(out, "visible already")
		}
		if len(p.Lost) > 0 {
			out = append(out, fmt.Sprint("lost ", p.Lost))
		}
		return strings.Join(append(out, p.Notices...), "\n") + "\n"
	})
}

func ids(t *testing.T, vals []string) (out []ident.BatchID) {
	t.Helper()
	for _, v := range vals {
		from, to, isRange := strings.Cut(v, "-")
		if !isRange {
			to = from
		}
		a, err1 := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil {
			t.Fatalf("ids %q", v)
		}
		for ; a <= b; a++ {
			out = append(out, ident.BatchID(a))
		}
	}
	return out
}

func entryOf(id ident.BatchID) *Entry {
	data := fmt.Appendf(nil, "v1\n{}\n%d", id)
	o, err := ParseOffsets(data)
	if err != nil {
		panic(err)
	}
	return &Entry{ID: id, Bytes: data, Offsets: o}
}

// seenBatch reads "<batch> [ours|foreign|none|stale]".
func seenBatch(t *testing.T, vals []string, sink string) Visible {
	t.Helper()
	n, err := strconv.Atoi(vals[0])
	if err != nil {
		t.Fatal(err)
	}
	v := Visible{Sink: sink, Batch: ident.BatchID(n), HasDigest: true, Digest: entryOf(ident.BatchID(n)).Digest().Stored(ident.BatchID(n))}
	if len(vals) > 1 {
		switch vals[1] {
		case "foreign": // made from other offsets
			v.Digest = ident.DigestOf([]byte("other")).Stored(v.Batch)
		case "none": // Spark stores no digest
			v.HasDigest = false
		case "stale": // the digest is that of an older batch: Spark came after us
			v.Digest = entryOf(0).Digest().Stored(0)
		}
	}
	return v
}

func TestOffsetsRoundTrip(t *testing.T) {
	first := (*Offsets)(nil).Next(ident.EntryID{Epoch: 3, Run: "ab"}, "f1", time.UnixMilli(1700000000123).UTC(),
		[]ident.Offset{`{"t":{"0":5}}`, ""}, []map[string]string{{"topic": "x"}, nil})
	data, err := first.Encode()
	if err != nil {
		t.Fatal(err)
	}
	want := "v1\n" + `{"batchWatermarkMs":0,"batchTimestampMs":1700000000123,"conf":{"microbatch.entry":"3.ab","microbatch.fingerprint":"f1","microbatch.source.0.topic":"x"}}` + "\n" + `{"t":{"0":5}}` + "\n-"
	if string(data) != want {
		t.Errorf("entry\n%s\nwant\n%s", data, want)
	}
	back, err := ParseOffsets(data)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := back.Entry(); err != nil || e != (ident.EntryID{Epoch: 3, Run: "ab"}) || back.Aux(0)["topic"] != "x" || back.Ends[1] != "" || !back.Timestamp.Equal(first.Timestamp) {
		t.Errorf("read back as %+v", back)
	}
}

func TestATruncatedEntryIsAnError(t *testing.T) {
	whole := "v1\n" + `{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}` + "\n" + `{"events":{"0":120,"1":98}}`
	for n := range len(whole) {
		if _, err := ParseOffsets([]byte(whole[:n])); err == nil {
			t.Errorf("cut to %q it was accepted", whole[:n])
		}
	}
	if _, err := ParseOffsets([]byte(whole)); err != nil {
		t.Error(err)
	}
}

func TestEntriesOfSpark(t *testing.T) {
	for name, text := range map[string]string{
		"version 1":               "v1\n" + `{"batchWatermarkMs":0,"batchTimestampMs":1645693802625,"conf":{"spark.sql.shuffle.partitions":"5"}}` + "\n1",
		"version 1 without conf":  "v1\n\n" + `{"t":{"0":1}}`,
		"version 2":               "v2\n" + `{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{},"sourceMetadataInfo":{"0":{"sourceId":"0"}}}` + "\n" + `0:{"events":{"0":120}}` + "\nmySource:-",
		"unknown conf is carried": "v1\n" + `{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{"x":"y"}}` + "\n1",
		"no offset of one source": "v1\n{}\n1\n-",
	} {
		o, err := ParseOffsets([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		next, err := o.Next(ident.EntryID{Epoch: 1, Run: "r"}, "f", time.UnixMilli(5), o.Ends, nil).Encode()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if again, err := ParseOffsets(next); err != nil || again.Version != o.Version || len(again.Ends) != len(o.Ends) {
			t.Errorf("%s: continued as\n%s\n%v", name, next, err)
		}
		for k, v := range o.Conf {
			if !strings.Contains(string(next), strconv.Quote(k)+":"+strconv.Quote(v)) {
				t.Errorf("%s: conf %s was lost", name, k)
			}
		}
	}
	for name, text := range map[string]string{"a version to come": "v3\n{}\n1", "no version": "x", "a sign": "v-1\n{}\n1", "source twice": "v2\n{}\n0:1\n0:2", "no JSON": "v1\n{}\n{"} {
		if _, err := ParseOffsets([]byte(text)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestCommits(t *testing.T) {
	data, err := Commits{Entry: ident.EntryID{Epoch: 2, Run: "r"}}.Encode()
	if err != nil || string(data) != "v1\n"+`{"nextBatchWatermarkMs":0,"microbatchEntry":"2.r"}` {
		t.Fatalf("%s %v", data, err)
	}
	for text, ok := range map[string]bool{
		string(data): true, "v1": true, "v1\n{}": true, "v1\n" + `{"nextBatchWatermarkMs":0}`: true, "v1\n" + `{"nextBatchWatermarkMs":5,"x":1}`: true,
		"v3\n" + `{"nextBatchWatermarkMs":0,"sinkMetadataMap":{"a":{}}}`: true, "": false, "v9\n{}": false, "v1\n{": false,
		"v2\n" + `{"nextBatchWatermarkMs":0,"stateUniqueIds":{"0":[["u"]]}}`: false, "v3\n" + `{"sinkMetadataMap":{"a":{},"b":{}}}`: false,
	} {
		if _, err := ParseCommits([]byte(text)); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestASealedFileDetectsEveryFlippedBit(t *testing.T) {
	data, err := Seal(map[string]any{"id": 7, "who": "me"})
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := Unseal(data, &v); err != nil || v["who"] != "me" {
		t.Fatal(v, err)
	}
	for i := range data {
		for bit := range 8 {
			bad := append([]byte(nil), data...)
			bad[i] ^= 1 << bit
			if err := Unseal(bad, &v); err == nil {
				t.Errorf("bit %d of byte %d flipped: accepted", bit, i)
			}
		}
	}
}
