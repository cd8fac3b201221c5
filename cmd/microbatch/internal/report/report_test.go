package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"microbatch/engine"
	"microbatch/sinks"
)

// run plays a short query to a listener; the clock goes on by a second at each event.
func run(l engine.Listener, tick func()) {
	working := l.Working
	if working == nil {
		working = func(engine.Working) {}
	}
	l.Started(engine.Started{ID: "q", Run: "r", Name: "orders", Epoch: 2, Plan: "goes on with batch 4", Guarantee: "exactly once: so it is"})
	for b := range 2 {
		for _, rows := range []int64{0, 500_000} {
			tick()
			working(engine.Working{Batch: 4, Phase: engine.Prepare, Rows: rows, Planned: 1_000_000, Behind: 1_000_000 * int64(1-b)})
		}
		tick()
		rate := 333333.3
		l.Progress(engine.Progress{Batch: 4, InputRows: 1_000_000, Rejected: 3, PerSecond: &rate, Behind: 0, Attempts: 2, Sink: engine.SinkProgress{Rows: 999_997, Changes: &sinks.Changes{Inserted: 999_000, Updated: 990, Deleted: 7}, Version: 7, Files: 2, Bytes: 4_500_000}})
	}
	if l.Notice != nil {
		l.Notice("topic \x1b[31mevil\nhas lost records")
	}
	tick()
	l.Idle(engine.Idle{ID: "q", Run: "r"})
	l.Terminated(nil)
}

// TestLineOnATerminal: one live line with rows/s, batch and lag, a progress bar when the end is known, and nothing of foreign text reaches the terminal raw.
func TestLineOnATerminal(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	l := &Line{Out: &out, Width: func() int { return 100 }, Now: func() time.Time { return now }, Once: true}
	run(l.Listener(), func() { now = now.Add(time.Second) })
	l.Log().With("query", "q").Warn("topic \x1b[31mevil\nhas lost records", "n", 3)
	text := out.String()
	for _, want := range []string{
		"orders: goes on with batch 4\nexactly once: so it is\n",
		"\rorders  batch 4  ░░░░░░░░░░░░░░░░░░░░   0%  0 rows/s  0 rows  1.00M behind  prepare",
		"█████░░░░░░░░░░░░░░░  25%  500k rows/s  500k rows  1.00M behind",
		"███████████████░░░░░  75%", "1.50M rows  0 behind", "3 rejected  999k inserted  990 updated",
		"note: topic ?[31mevil?has lost records query=q n=3\n",
		"waiting for data  2.00M rows",
		"orders  2.00M rows in 7.0s  6 rejected  2.00M inserted  1980 updated  14 deleted  table version 7\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q in\n%s", want, strings.ReplaceAll(text, "\r", "\n\\r"))
		}
	}
	for line := range strings.SplitSeq(text, "\r") {
		if n := len([]rune(strings.TrimSuffix(line, "\x1b[K"))); !strings.Contains(line, "\n") && n >= 100 {
			t.Errorf("a line of %d columns would wrap: %q", n, line)
		}
	}
}

// TestLogLines: one log line per batch where there is no terminal.
func TestLogLines(t *testing.T) {
	var out bytes.Buffer
	run(Log(slog.New(slog.NewTextHandler(&out, nil))), func() {})
	if n := strings.Count(out.String(), "msg=batch batch=4 rows=1000000 out=999997 ms=0 rows_per_s=333333 behind=0 rejected=3 inserted=999000 updated=990 deleted=7 unchanged=0 version=7 files=2 size=\"4.5 MB\" attempts=2"); n != 2 {
		t.Errorf("%d lines of batches in\n%s", n, out.String())
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("raw control characters in %q", out.String())
	}
}

// TestJSONEvents: each line is an object; progress has Spark's field names.
func TestJSONEvents(t *testing.T) {
	var out bytes.Buffer
	l := JSON(&out)
	run(l, func() {})
	l.Terminated(errors.New("over"))
	var events []string
	for line := range strings.Lines(out.String()) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		events = append(events, o["event"].(string))
		if sink, ok := o["sink"].(map[string]any); ok && (sink["numInsertedRows"] != 999000.0 || sink["numUpdatedRows"] != 990.0 || sink["numDeletedRows"] != 7.0 || sink["numUnchangedRows"] != 0.0) {
			t.Errorf("progress: %s", line)
		}
		if o["event"] == "progress" && (o["numInputRows"] != 1e6 || o["batchId"] != 4.0 || o["processedRowsPerSecond"] == nil || o["sink"].(map[string]any)["numOutputRows"] != 999997.0) {
			t.Errorf("progress: %s", line)
		}
	}
	if have := strings.Join(events, " "); have != "started progress progress notice idle terminated terminated" {
		t.Errorf("events: %s", have)
	}
}

// TestUnits of counts, sizes and durations.
func TestUnits(t *testing.T) {
	for have, want := range map[string]string{
		count(0): "0", count(9999): "9999", count(12_345): "12.3k", count(999_400): "999k", count(4_560_000): "4.56M", count(123e9): "123G",
		size(999): "999 B", size(12_300_000): "12.3 MB", span(90 * time.Second): "1m30s", span(1500 * time.Millisecond): "1.5s", span(20 * time.Millisecond): "20ms",
		bar(0.5, 4): "██░░", bar(7, 2): "██",
	} {
		if have != want {
			t.Errorf("have %q, want %q", have, want)
		}
	}
}
