package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"microbatch/internal/errcode"
)

// TestBadPipelineFileNamesEveryFaultAtOnce: unknown keys, wrong types and impossible combinations are all reported at once, each with
// file:line:column and what would be right.
func TestBadPipelineFileNamesEveryFaultAtOnce(t *testing.T) {
	datadriven.Walk(t, "testdata/faults", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Setenv("PIPELINE_PASSWORD", "canary-8b1f")
			var sets []string
			for _, a := range d.CmdArgs {
				if a.Key == "set" {
					sets = append(sets, a.Vals[0]+"="+strings.Join(a.Vals[1:], ","))
				}
			}
			c, err := Parse("p.yaml", []byte(d.Input), sets)
			if err == nil {
				return "valid, checkpoint " + strings.TrimPrefix(c.Checkpoint, workingDir(t)+"/")
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("a secret is printed: %v", err)
			}
			if class := errcode.ClassOf(err); class != errcode.Config {
				t.Errorf("class %v, want config", class)
			}
			return strings.ReplaceAll(err.Error(), workingDir(t)+"/", "")
		})
	})
}

func workingDir(t *testing.T) string {
	t.Helper()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return wd
}

const full = `
name: orders
source:
  kafka:
    brokers: [localhost:9092, "[::1]:9093"]
    topics: [orders]
    start: {timestamp: 2026-01-31}
    isolation: read_uncommitted
    on_data_loss: skip
    metadata: [topic, partition, offset]
    group: lag
    tls: {ca: certs/ca.pem}
    sasl: {mechanism: SCRAM-SHA-512, user: u, password: "env:PIPELINE_PASSWORD"}
  format: json
  schema: order_id STRING, amount DECIMAL(10,2), ts TIMESTAMP
  rescue: _rescued
transform:
  - select: [order_id, amount, ts]
  - filter: amount > 0
  - sql: |
      SELECT *, ts::DATE AS day
      FROM batch
sink:
  table:
    path: s3://lake/orders/
    format: delta
    partition_by: [day]
    compression: snappy
    encoding: plain
    schema_evolution: add_columns
    maintenance: {optimize_every: 1h, vacuum_retain: 7d}
    target_file_size: 64MB
    properties: {delta.dataSkippingNumIndexedCols: "8"}
rejected: {table: ../bad}
max_rejected: 1%
checkpoint: ckpt/orders
trigger: {every: 30s, max_rows: 1_000_000, max_bytes: 1GiB, min_pause: 100ms}
batch_timeout: 1h30m
retain_batches: 200
max_restarts: 3
s3:
  region: eu-west-1
  buckets:
    lake: {endpoint: "http://127.0.0.1:9000", path_style: on, access_key: "env:PIPELINE_PASSWORD", secret_key: "file:key"}
`

// TestEveryKeyIsReadToItsType loads a file with every kind of value.
func TestEveryKeyIsReadToItsType(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PIPELINE_PASSWORD", "canary-8b1f")
	os.WriteFile(filepath.Join(dir, "key"), []byte("canary-77aa\n"), 0o600)
	os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(full), 0o600)
	c, err := Load(filepath.Join(dir, "p.yaml"), []string{"trigger.max_rows=20000", "source.kafka.topics[1]=returns"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]any{
		"paths are relative to the file": {c.Checkpoint, filepath.Join(dir, "ckpt/orders")},
		"rejected":                       {c.Rejected.Table, filepath.Join(filepath.Dir(dir), "bad")},
		"certificate":                    {c.Source.Kafka.TLS.CA, filepath.Join(dir, "certs/ca.pem")},
		"table":                          {c.Sink.Table.Path, "s3://lake/orders"},
		"--set of a number":              {c.Trigger.MaxRows, int64(20000)},
		"--set appends to a list":        {c.Source.Kafka.Topics, []string{"orders", "returns"}},
		"size":                           {c.Trigger.MaxBytes, Size(1 << 30)},
		"decimal size":                   {c.Sink.Table.TargetFileSize, Size(64e6)},
		"duration":                       {c.BatchTimeout.D(), 90 * time.Minute},
		"days":                           {c.Sink.Table.Maintenance.VacuumRetain.D(), 7 * 24 * time.Hour},
		"percentage":                     {c.MaxRejected, Ceiling{Share: 0.01, Set: true}},
		"date":                           {c.Source.Kafka.Start.Timestamp.Time, time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)},
		"block text":                     {c.Transform[2].SQL, "SELECT *, ts::DATE AS day\nFROM batch\n"},
		"secret of the environment":      {c.Source.Kafka.SASL.Password.Value().Expose(), "canary-8b1f"},
		"secret of a file":               {c.S3.Buckets["lake"].SecretKey.Value().Expose(), "canary-77aa"},
		"default":                        {c.OnError, "reject"},
		"on is true":                     {*c.S3.Buckets["lake"].PathStyle, true},
		"sweep is on by default":         {c.Sink.Table.Sweep, true},
	}
	for name, w := range want {
		if diff := cmp.Diff(w[1], w[0]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if text, err := json.Marshal(c); err != nil || strings.Contains(string(text), "canary") {
		t.Errorf("a secret is printed, or %v", err)
	}
	if place := c.Place("sink.table.path"); place != filepath.Join(dir, "p.yaml")+":25:11" {
		t.Errorf("place of sink.table.path is %s", place)
	}
}

// TestDefaultsFitTheirTypes decodes every default, so that a wrong tag is found here and not by a user.
func TestDefaultsFitTheirTypes(t *testing.T) {
	var visit func(t reflect.Type, path string)
	visit = func(typ reflect.Type, path string) {
		for _, k := range keysIn(typ) {
			d := &decoder{faults: &Faults{}, places: map[string]place{}}
			d.absent(reflect.New(k.typ).Elem(), k)
			if err := d.faults.err(); err != nil {
				t.Errorf("%s: default %q: %v", join(path, k.key), k.fallback, err)
			}
			visit(plain(k.typ), join(path, k.key))
		}
	}
	visit(reflect.TypeFor[Config](), "")
}

// TestMissingFile has its own code and names the file.
func TestMissingFile(t *testing.T) {
	_, err := Load("nowhere/p.yaml", nil)
	if !errcode.Has(err, errcode.PipelineRead) || !strings.Contains(err.Error(), "nowhere/p.yaml") {
		t.Errorf("have %v", err)
	}
}

func TestWhatIsNoPipelineFileIsRefusedAtOnce(t *testing.T) {
	for name, text := range map[string]string{
		"too many keys":     "name: t\n" + strings.Repeat("key: 1\n", maxBytes/7),
		"unclosed lists":    "name: " + strings.Repeat("[", 100_000),
		"unclosed mappings": "name: " + strings.Repeat("{a: ", 20_000),
	} {
		if _, err := Parse("p.yaml", []byte(text), nil); err == nil || !strings.Contains(err.Error(), "no pipeline file") {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

func TestAShareIsANumber(t *testing.T) {
	for _, word := range []string{"NaN%", "Inf%", "-1%", "101%", "%"} {
		if err := new(Ceiling).parse(word); err == nil {
			t.Errorf("%s is taken for a share", word)
		}
	}
}

// A duration is never negative, and never so long that it does not fit and comes out negative: 106752 days once did.
func TestDurationsThatDoNotFit(t *testing.T) {
	for word, want := range map[string]time.Duration{"7d": 7 * 24 * time.Hour, "1d12h": 36 * time.Hour, "0s": 0, "0d": 0, "36525d": 36525 * 24 * time.Hour} {
		if d, err := ParseDuration(word); err != nil || d.D() != want {
			t.Errorf("%s: %s, %v", word, d.D(), err)
		}
	}
	for _, word := range []string{"106752d", "2147483647d", "99999999999d", "-1d", "-1s", "2500000h", "1d-1h", "d"} {
		if d, err := ParseDuration(word); err == nil {
			t.Errorf("%q is taken for %s", word, d.D())
		}
	}
}

// TestAdviceForSeveralFaults: the advice for the first of several faults is not taken for that of all.
func TestAdviceForSeveralFaults(t *testing.T) {
	_, err := Parse("p.yaml", []byte("name: p\nsource: {files: {path: in}}\nsink: {table: {path: t, formatt: delta, mode: upsertt}}\n"), nil)
	if text := errcode.Detail(err); !strings.Contains(text, "MB1003") || !strings.Contains(text, "MB1004") || !strings.Contains(text, "next: Correct each of them") {
		t.Error(text)
	}
}
