package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"microbatch/internal/events"
	"microbatch/internal/services"
)

// s3Config is the pipeline's s3 section for a server, and the environment that it refers to.
func s3Config(s services.S3Server) (yaml string, env []string) {
	return fmt.Sprintf("s3: {endpoint: %s, region: %s, path_style: true, access_key: env:E2E_ACCESS, secret_key: env:E2E_SECRET}\n", s.Endpoint, s.Region),
		[]string{"E2E_ACCESS=" + s.AccessKey, "E2E_SECRET=" + s.SecretKey}
}

// TestFilesToDeltaOnMinIOSurviveKills has everything on S3: checkpoint and a partitioned delta table; the program is killed, also between commit and record.
func TestFilesToDeltaOnMinIOSurviveKills(t *testing.T) {
	minio := services.MinIO(t)
	bucket := minio.NewBucket(t)
	dir := t.TempDir()
	in := newFeeder(t, filepath.Join(dir, "in"), 2_000)
	yaml, env := s3Config(minio)
	file := write(t, dir, "microbatch.yaml", `
name: events
source:
  files: {path: in}
  format: json
  schema: `+events.DDL+`
sink:
  table: {path: "s3://`+bucket+`/lake/events", format: delta, partition_by: [country]}
checkpoint: s3://`+bucket+`/checkpoints/events
trigger: {max_files: 1}
`+yaml)
	k := killing{file: file, env: env, args: []string{"--trigger", "0s"}, kills: 6, rng: newRand(t), feed: func() { in.write(10) }}
	k.run(t)
	last := start(t, env, file, "--once")
	last.wait(3 * time.Minute)
	if last.batches == 0 {
		t.Error("no work was left after the last kill")
	}
	got := strings.TrimSpace(run(t, env, "query", "--format", "csv", "--pipeline", file, "SELECT count(*) || ' ' || count(DISTINCT id) || ' ' || sum(id) AS f FROM events"))
	if want := fmt.Sprintf("f\n%d %d %d", in.good, in.good, in.sum); got != want {
		t.Errorf("the table holds %q, want %q", got, want)
	}
}

// TestTwoDriversOnS3 starts a second driver while the first one works: the newer goes on, the older stops with the error that says so, and the rows are exact.
func TestTwoDriversOnS3(t *testing.T) {
	minio := services.MinIO(t)
	bucket := minio.NewBucket(t)
	dir := t.TempDir()
	in := newFeeder(t, filepath.Join(dir, "in"), 500)
	in.write(200)
	yaml, env := s3Config(minio)
	file := write(t, dir, "microbatch.yaml", `
name: events
source:
  files: {path: in}
  format: json
  schema: `+events.DDL+`
sink:
  table: {path: "s3://`+bucket+`/t", format: delta}
checkpoint: s3://`+bucket+`/c
trigger: {max_files: 1}
`+yaml)
	older := start(t, env, file, "--trigger", "0s")
	if !older.batch(time.Minute) {
		t.Fatal(older.stderr.String())
	}
	newer := start(t, env, file, "--once")
	if code := older.exit(); code != 4 || !strings.Contains(older.stderr.String(), "MB1112") {
		t.Errorf("the older driver ended with exit code %d:\n%s", code, older.stderr.String())
	}
	newer.wait(3 * time.Minute)
	got := strings.TrimSpace(run(t, env, "query", "--format", "csv", "--pipeline", file, "SELECT count(*) || ' ' || count(DISTINCT id) || ' ' || sum(id) AS f FROM events"))
	if want := fmt.Sprintf("f\n%d %d %d", in.good, in.good, in.sum); got != want {
		t.Errorf("the table holds %q, want %q", got, want)
	}
}
