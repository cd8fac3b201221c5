package pipeline

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"microbatch/engine"
	"microbatch/internal/errcode"
)

// s3Server is an S3 server in this process with a bucket "lake". change may alter a request.
func s3Server(t *testing.T, change func(*http.Request)) string {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("lake"); err != nil {
		t.Fatal(err)
	}
	handler := gofakes3.New(backend).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if change != nil {
			change(r)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Setenv("S3_KEY", "k")
	return server.URL
}

// start does what `microbatch start --once` does and returns the rows that were written.
func start(t *testing.T, text string) (rows int64, err error) {
	t.Helper()
	c := load(t, text)
	q, err := Build(t.Context(), c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := Probe(t.Context(), c); err != nil {
		return 0, err
	}
	q.Trigger.Once = true
	q.Listener.Progress = func(p engine.Progress) { rows += p.Sink.Rows }
	return rows, q.Run(t.Context())
}

// keys are the objects below a place that end in suffix.
func keys(t *testing.T, c *Config, place, suffix string) (n int) {
	t.Helper()
	s, err := NewStores(c).At(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	for info, err := range s.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(info.Key, suffix) {
			n++
		}
	}
	return n
}

// TestTableCheckpointAndFilesInAnyMixOfStores: each of the three on local disk or on S3; the second start takes the new file alone.
func TestTableCheckpointAndFilesInAnyMixOfStores(t *testing.T) {
	endpoint := s3Server(t, nil)
	for mix := range 8 {
		dir := t.TempDir()
		at := func(bit int, name string) string {
			if mix&bit != 0 {
				return fmt.Sprintf("s3://lake/mix%d/%s", mix, name)
			}
			return filepath.Join(dir, name)
		}
		table, checkpoint, in := at(1, "table"), at(2, "checkpoint"), at(4, "in")
		t.Run(fmt.Sprintf("table %s, checkpoint %s, files %s", kind(table), kind(checkpoint), kind(in)), func(t *testing.T) {
			text := fmt.Sprintf(`
name: mix
source: {files: {path: %q}, schema: id INT}
sink: {table: {path: %q}}
checkpoint: %q
s3: {endpoint: %q, access_key: "env:S3_KEY", secret_key: "env:S3_KEY"}
`, in, table, checkpoint, endpoint)
			c := load(t, text)
			source, err := NewStores(c).At(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			for n, want := range []int64{2, 3, 0} {
				if want > 0 {
					if err := source.Put(t.Context(), fmt.Sprintf("%d.ndjson", n), []byte(strings.Repeat("{\"id\": 1}\n", int(want)))); err != nil {
						t.Fatal(err)
					}
				}
				if got, err := start(t, text); err != nil || got != want {
					t.Fatalf("start %d: %d rows, want %d, %v", n, got, want, err)
				}
			}
			if n := keys(t, c, table, ".parquet"); n != 2 {
				t.Errorf("the table has %d files, want 2", n)
			}
			if n := keys(t, c, checkpoint, "offsets/1"); n != 1 {
				t.Errorf("offsets/1 is not in the checkpoint")
			}
		})
	}
}

func kind(path string) string {
	if strings.HasPrefix(path, "s3://") {
		return "S3"
	}
	return "local"
}

// TestAStoreThatDoesNotCreateAtomicallyIsRefusedAtTheStart: a server that ignores If-None-Match, whichever part of the query would rest on it.
func TestAStoreThatDoesNotCreateAtomicallyIsRefusedAtTheStart(t *testing.T) {
	endpoint := s3Server(t, func(r *http.Request) { r.Header.Del("If-None-Match") })
	for name, paths := range map[string][3]string{
		"table":      {"s3://lake/t", "c", "r"},
		"checkpoint": {"t", "s3://lake/c", "r"},
		"rejected":   {"t", "c", "s3://lake/r"},
	} {
		t.Run(name, func(t *testing.T) {
			text := fmt.Sprintf(`
name: p
source: {files: {path: in}, schema: id INT}
sink: {table: {path: %q}}
checkpoint: %q
rejected: {table: %q}
s3: {endpoint: %q, access_key: "env:S3_KEY", secret_key: "env:S3_KEY"}
`, paths[0], paths[1], paths[2], endpoint)
			_, err := start(t, text)
			if !errcode.Has(err, errcode.StoreNotAtomic) || !strings.Contains(err.Error(), "s3://lake/") {
				t.Fatalf("error %v", err)
			}
			for _, p := range []string{"s3://lake/", filepath.Join(t.TempDir(), "t")} {
				if n := keys(t, load(t, text), p, ""); n > 0 {
					t.Errorf("%d objects are left in %s", n, p)
				}
			}
		})
	}
}

// TestAProbeEndsWithItsContext so that a stop while the store is asked is a stop.
func TestAProbeEndsWithItsContext(t *testing.T) {
	endpoint := s3Server(t, nil)
	c := load(t, fmt.Sprintf("name: p\nsource: {orders: }\nsink: {table: {path: s3://lake/t}}\ns3: {endpoint: %q, access_key: \"env:S3_KEY\", secret_key: \"env:S3_KEY\"}\n", endpoint))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Probe(ctx, c); err == nil {
		t.Error("no error")
	}
}
