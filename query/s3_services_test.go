//go:build services && cgo && duckdb_arrow

package query

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"microbatch/internal/services"
)

// extensions is the folder of the httpfs extension that comes with a Python package.
func extensions(t *testing.T) string {
	const script = "import os, duckdb_extension_httpfs\nprint(os.path.dirname(duckdb_extension_httpfs.__file__))\n"
	return strings.TrimSpace(services.RunPython(t, services.Python(t), script, time.Minute))
}

func TestATableOnS3IsReadByDuckDBWhereHTTPFSCanBeLoaded(t *testing.T) {
	folder := extensions(t)
	for _, server := range []services.S3Server{services.MinIO(t), services.VersityGW(t)} {
		store, access := bucket(t, server)
		want := oddTable(t, store)
		s := session(t, Options{Extensions: folder})
		if r := add(t, s, "t", Table{Store: store, S3: access}); !r.DuckDB {
			t.Error(server.Name, r)
		}
		if diff := cmp.Diff(want, rows(t, s, "FROM t")); diff != "" {
			t.Error(server.Name, diff)
		}
	}
}

func TestAnExtensionThatDuckDBRefusesIsSaid(t *testing.T) {
	store, access := bucket(t, services.MinIO(t))
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv(ExtensionsVariable, dir)
	if err := os.WriteFile(filepath.Join(dir, httpfsFile), []byte("not an extension"), 0o600); err != nil {
		t.Fatal(err)
	}
	oddTable(t, store)
	s := session(t, Options{})
	if r := add(t, s, "t", Table{Store: store, S3: access}); r.DuckDB || !strings.Contains(r.Why, "DuckDB's httpfs cannot be loaded") {
		t.Error(r)
	}
}
