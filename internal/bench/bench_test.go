package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"microbatch/internal/bench/report"
	"microbatch/schema"
)

func TestRowsAreTheSameForTheSameSeed(t *testing.T) {
	a, b := newGenerator(7), newGenerator(7)
	for range 100 {
		row := a.append(nil)
		if string(row) != string(b.append(nil)) {
			t.Fatal("two generators of one seed differ")
		}
		var fields map[string]any
		if err := json.Unmarshal(row, &fields); err != nil || len(fields) != 8 {
			t.Fatalf("%s: %d fields, %v", row, len(fields), err)
		}
	}
}

func TestRowsInOtherDressAreJSONOfTheirColumns(t *testing.T) {
	for _, in := range []input{
		events("shuffled", "", shuffled), events("escaped", "", escaped), events("nullable", "", nullable), nestedInput(), wideInput(), longInput(), deepInput(), bucketedInput(),
	} {
		declared, err := schema.ParseDDL(in.schema)
		if err != nil {
			t.Fatalf("%s: %v", in.name, err)
		}
		g := newGenerator(1)
		for range 20 {
			row := in.append(g, nil)
			var fields map[string]any
			if err := json.Unmarshal(row, &fields); err != nil || bytes.Count(row, []byte("\n")) != 1 {
				t.Fatalf("%s: %.300s: %v", in.name, row, err)
			}
			for name := range fields {
				if !declared.HasField(name) {
					t.Errorf("%s: no column %s", in.name, name)
				}
			}
			if len(fields) != declared.NumFields() && in.name != "nullable" {
				t.Errorf("%s: %d fields, %d columns", in.name, len(fields), declared.NumFields())
			}
		}
	}
}

func TestEachRowOfTheTableHasItsOwnName(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range workloads() {
		if len(w.Rows) == 0 || w.Group == "" || w.measure == nil {
			t.Errorf("%s is not whole", w.Name)
		}
		for _, r := range w.Rows {
			if seen[r.Name] {
				t.Errorf("two rows are named %q", r.Name)
			}
			seen[r.Name] = true
		}
	}
	if w := workloads()[0]; !w.matches(regexp.MustCompile("bytes of")) || w.matches(regexp.MustCompile("spark")) {
		t.Error("--only does not find a workload by its rows")
	}
}

func TestAnInterruptedRunGoesOnWithTheSameCode(t *testing.T) {
	file := filepath.Join(t.TempDir(), "unfinished.json")
	first, err := resume(file, "abc")
	if err != nil {
		t.Fatal(err)
	}
	if err := first.add([]report.Result{{Workload: workloads()[0].Name, Name: "x"}}); err != nil {
		t.Fatal(err)
	}
	again, err := resume(file, "abc")
	if err != nil || !again.has(workloads()[0]) || again.has(workloads()[1]) {
		t.Errorf("%+v, %v", again, err)
	}
	other, err := resume(file, "def")
	if err != nil || other.has(workloads()[0]) {
		t.Errorf("results of other code are taken: %+v, %v", other, err)
	}
	if err := again.done(); err != nil {
		t.Fatal(err)
	}
	if fresh, err := resume(file, "abc"); err != nil || len(fresh.Results) != 0 {
		t.Errorf("an ended run goes on: %+v, %v", fresh, err)
	}
}

func TestReplayWritesEveryFileOfTheBatches(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	for name, content := range map[string]string{"table/part-0.parquet": "data", "checkpoint/offsets/0": "v1", "pipeline.yaml": "not a batch's"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := written(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("%d files, %v", len(files), err)
	}
	if ms, err := replay(dir, 1); err != nil || ms <= 0 {
		t.Errorf("%v ms, %v", ms, err)
	}
}

func TestFetchingGoesOnBehindTheLastWholeRecordBatch(t *testing.T) {
	recordBatch := func(base int64, records uint32, body int) []byte {
		b := make([]byte, 61+body)
		binary.BigEndian.PutUint64(b, uint64(base))
		binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
		binary.BigEndian.PutUint32(b[23:], records-1)
		return b
	}
	f := fetcher{parts: []fetchPart{{partition: 3, end: 30}}}
	cut := append(append(recordBatch(0, 10, 5), recordBatch(10, 10, 7)...), recordBatch(20, 10, 9)[:65]...)
	if err := f.accept(3, cut); err != nil {
		t.Fatal(err)
	}
	if f.parts[0].next != 20 {
		t.Errorf("next is %d", f.parts[0].next)
	}
	if _, more := f.request(); !more {
		t.Error("it stops before the end")
	}
	if err := f.accept(3, recordBatch(20, 10, 9)); err != nil {
		t.Fatal(err)
	}
	if _, more := f.request(); more {
		t.Error("it asks beyond the end")
	}
}

func TestAPipelineFileHasWhatAWorkloadAsksFor(t *testing.T) {
	p := pipeline{source: kafka("127.0.0.1:9092", "events"), format: "json", schema: "id BIGINT", table: "/t", sink: "format: delta", trigger: "max_rows: 1000"}
	const want = `name: bench
source:
  kafka: {brokers: ["127.0.0.1:9092"], topics: [events]}
  format: json
  schema: "id BIGINT"
sink:
  table: {path: "/t", compression: snappy, format: delta}
trigger: {every: 0s, max_rows: 1000}
`
	if got := p.text(); got != want {
		t.Errorf("got\n%s", got)
	}
}
