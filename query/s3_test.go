//go:build cgo && duckdb_arrow

package query

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"microbatch/internal/secret"
	"microbatch/internal/services"
	"microbatch/objstore"
	"microbatch/objstore/s3"
	"microbatch/table/translog"
)

// bucket is a fresh bucket on a server, for us and for DuckDB.
func bucket(t *testing.T, server services.S3Server) (objstore.Store, *S3) {
	t.Helper()
	access := &S3{Endpoint: server.Endpoint, Region: server.Region, PathStyle: true, AccessKey: secret.Of(server.AccessKey), SecretKey: secret.Of(server.SecretKey)}
	store, err := s3.New(t.Context(), s3.Config{
		Bucket: server.NewBucket(t), Prefix: "lake/orders", Endpoint: access.Endpoint, Region: access.Region, PathStyle: true, AccessKey: access.AccessKey, SecretKey: access.SecretKey,
	})
	if err != nil {
		t.Fatal(err)
	}
	return store, access
}

// oddTable has partition values that are hard to write into the key of an object, and an orphan.
func oddTable(t *testing.T, store objstore.Store) (want []string) {
	m := create(t, store, translog.Delta, "id BIGINT, p STRING", "p")
	m.append(`{"id": 1, "p": "a b/c=d%e"}, {"id": 2, "p": null}, {"id": 3, "p": "ü:x+y&z"}`)
	m.append(`{"id": 4, "p": "plain"}`)
	m.stage(m.table.Snapshot().Schema(), `{"id": 99, "p": "plain"}`)
	return []string{"1|a b/c=d%e", "2|(null)", "3|ü:x+y&z", "4|plain"}
}

func TestATableOnS3IsReadByUsWhereHTTPFSCannotBeLoaded(t *testing.T) {
	store, access := bucket(t, services.MinIO(t))
	t.Setenv("HOME", t.TempDir())
	t.Setenv(ExtensionsVariable, t.TempDir())
	want := oddTable(t, store)
	s := session(t, Options{})
	if r := add(t, s, "t", Table{Store: store, S3: access}); r.DuckDB || !strings.Contains(r.Why, "there is no httpfs.duckdb_extension for DuckDB v1.5.5 in") {
		t.Error(r)
	}
	if diff := cmp.Diff(want, rows(t, s, "FROM t")); diff != "" {
		t.Error(diff)
	}
	if got := rows(t, s, "SELECT p FROM t WHERE id = 4"); !slices.Equal(got, []string{"plain"}) {
		t.Error(got)
	}
	if r := add(t, s, "t2", Table{Store: store}); !strings.Contains(r.Why, "no credentials") {
		t.Error(r)
	}
}
