package pipeline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/engine"
	"microbatch/internal/errcode"
)

func load(t *testing.T, text string) *Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestBuildSetsWhatTheFileSays: every setting of the file that is the engine's arrives there.
func TestBuildSetsWhatTheFileSays(t *testing.T) {
	q, err := Build(t.Context(), load(t, `
name: p
source: {files: {path: in}, format: json, schema: id INT}
transform: [{select: [id]}, {filter: id > 1}]
sink: {table: {path: t}}
on_error: reject
max_rejected: 2%
trigger: {every: 30s, max_rows: 7, max_bytes: 1MB, max_files: 3, min_pause: 1s}
batch_timeout: 1m
retain_batches: 300
max_restarts: 0
`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for what, ok := range map[string]bool{
		"name":          q.Name == "p",
		"source":        len(q.Sources) == 1 && q.Sources[0].Describe().Kind == "files",
		"transforms":    len(q.Transforms) == 2,
		"sink":          strings.Contains(q.Sink.Describe().Name, "/t"),
		"rejected":      q.Rejected != nil && strings.Contains(q.Rejected.Describe().Name, "/t_rejected"),
		"checkpoint":    strings.HasSuffix(q.Checkpoint.URL(), "/t/_checkpoint"),
		"ceiling":       q.MaxRejected == engine.Ceiling{Share: 0.02},
		"trigger":       q.Trigger == engine.Trigger{Every: 30 * time.Second, MinPause: time.Second},
		"limits":        q.Limit.Rows == 7 && q.Limit.Bytes == 1e6 && q.Limit.Files == 3,
		"batch timeout": q.BatchTimeout == time.Minute,
		"retained":      q.RetainBatches == 300,
		"no restarts":   q.MaxRestarts < 0, // the engine's 0 is its default
		"on error":      q.OnError == engine.RejectRows,
	} {
		if !ok {
			t.Errorf("%s is not what the file says: %+v", what, q)
		}
	}
	if err := q.Validate(); err != nil {
		t.Error(err)
	}
}

// TestBuildOfEachKind: one pipeline for each source, sink and format builds and names its kind.
func TestBuildOfEachKind(t *testing.T) {
	t.Setenv("SECRET", "x")
	for kind, text := range map[string]string{
		"kafka":        "source: {kafka: {brokers: [\"h:1\"], topics: [a], start: {offsets: {a: {0: 5}}}, tls: {}, sasl: {mechanism: PLAIN, user: u, password: \"env:SECRET\"}}}\nsink: {table: {path: s3://b/t}}\n",
		"kafka csv":    "source: {kafka: {brokers: [\"h:1\"], pattern: \"a.*\", start: {timestamp: 2026-01-31}}, format: csv, schema: a INT}\nsink: {table: {path: t}}\n",
		"files csv":    "source: {files: {path: \"in/*.csv\"}}\nsink: {table: {path: t, format: delta}}\n",
		"files s3":     "source: {files: {path: s3://b/in}, format: parquet}\nsink: {table: {path: t}}\ns3: {endpoint: \"http://127.0.0.1:1\", access_key: \"env:SECRET\", secret_key: \"env:SECRET\"}\n",
		"rate":         "source: {rate: {rows_per_second: 5}}\nsink: {console: {format: json}}\ncheckpoint: c\n",
		"orders":       "source: {orders: }\nsink: {foreachbatch: {command: [cat]}}\ncheckpoint: c\n",
		"orders files": "source: {orders: }\nsink: {files: {path: out, format: csv, compression: zstd}}\ncheckpoint: c\n",
		"orders sql":   "source: {orders: }\nsink: {foreachbatch: {duckdb: d, sql: [SELECT 1]}}\ncheckpoint: c\n",
		"orders http":  "source: {orders: }\nsink: {http: {url: \"https://h/x\", operation_id: [order_id], authorization: \"env:SECRET\", headers: {X-A: b}, quarantine: q}}\ncheckpoint: c\n",
		"kafka latest": "source: {kafka: {brokers: [\"h:1\"], topics: [a], start: latest}}\nsink: {table: {path: t}}\non_error: drop\n",
	} {
		q, err := Build(t.Context(), load(t, "name: p\n"+text), Options{})
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if have := q.Sources[0].Describe().Kind; have != strings.Fields(kind)[0] {
			t.Errorf("%s: the source is %s", kind, have)
		}
		if err := q.Validate(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestRequestsOfKafkaRecords: without operation_id, the key of a request is the record's place, in the columns that the source's metadata gives, and a pipeline
// that has lost one of them is refused before it starts.
func TestRequestsOfKafkaRecords(t *testing.T) {
	q, err := Build(t.Context(), load(t, "name: p\nsource: {kafka: {brokers: [\"h:1\"], topics: [a], metadata: [topic, partition, offset]}, schema: a INT}\n"+
		"sink: {http: {url: \"https://h/x\"}}\non_error: drop\ncheckpoint: c\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	fields := []arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int32}, {Name: "_topic", Type: arrow.BinaryTypes.String},
		{Name: "_partition", Type: arrow.PrimitiveTypes.Int32}, {Name: "_offset", Type: arrow.PrimitiveTypes.Int64}}
	if err := q.Sink.Check(t.Context(), arrow.NewSchema(fields, nil)); err != nil {
		t.Error(err)
	}
	if err := q.Sink.Check(t.Context(), arrow.NewSchema(fields[:3], nil)); !errcode.Has(err, errcode.HTTPColumns) {
		t.Errorf("without _offset: %v", err)
	}
}

// TestSplitPath: the path of a single file is its folder and its name; globs and prefixes are cut by the source's own rule.
func TestSplitPath(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/a.ndjson", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][2]string{
		dir + "/a.ndjson":   {dir, "a.ndjson"},
		dir + "/*.ndjson":   {dir, "*.ndjson"},
		dir:                 {dir, ""},
		"s3://b/in/**/*.gz": {"s3://b/in", "**/*.gz"},
	} {
		if root, glob := splitPath(path); root != want[0] || glob != want[1] {
			t.Errorf("%s: have %s and %s, want %v", path, root, glob, want)
		}
	}
}
