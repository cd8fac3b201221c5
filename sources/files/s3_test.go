package files

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"microbatch/internal/errcode"
	"microbatch/internal/secret"
	"microbatch/objstore"
	"microbatch/objstore/s3"
	"microbatch/sources"
	"microbatch/sources/sourcetest"
)

// bucket is a bucket of an S3 server in this process.
func bucket(t *testing.T) objstore.Store {
	t.Helper()
	backend := s3mem.New()
	must0(t, backend.CreateBucket("lake"))
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	store, err := s3.New(t.Context(), s3.Config{
		Bucket: "lake", Endpoint: server.URL, PathStyle: true, Region: "us-east-1", AccessKey: secret.Of("AKIAFAKE"), SecretKey: secret.Of("fake-secret-key"),
	})
	must0(t, err)
	return store
}

// onS3 moves the input and the seen-log of a rig to a bucket.
func onS3(t *testing.T) (*rig, objstore.Store) {
	r, store := newRig(t), bucket(t)
	r.config.Store, r.config.Root = objstore.Prefix(store, "in"), "s3://lake/in"
	r.own = objstore.Prefix(store, "checkpoint/sources/0")
	return r, store
}

func put(t *testing.T, store objstore.Store, key string, n int) {
	t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s:%d\n", key, i)
	}
	must0(t, store.Put(t.Context(), "in/"+key, []byte(b.String())))
}

func TestAnS3PrefixIsReadWithItsSeenLogOnS3(t *testing.T) {
	r, store := onS3(t)
	r.config.Glob = "day=*/*"
	r.format.rowsAChunk = 50_000
	r.config.Format = r.format
	put(t, store, "day=1/a b", 2)
	put(t, store, "day=1/big", 1_000_000) // two units and more
	put(t, store, "other", 1)
	must0(t, store.Put(t.Context(), "in/day=2/packed.gz", []byte(gzipped("packed:0\n"))))
	rows, at, _ := r.all(r.start(), "", sources.Limit{Files: 2})
	if len(rows) != 1_000_003 || !slices.Contains(rows, "packed:0") || !slices.Contains(rows, "day=1/a b:1") {
		t.Error(len(rows))
	}
	s := r.start()
	if got := r.plan(s, at, sources.Limit{}); got != at {
		t.Error("read again after a restart:", got)
	}
	put(t, store, "day=1/a b", 3)
	r.plan(s, at, sources.Limit{})
	if len(r.notices) != 1 || !strings.Contains(r.notices[0], "s3://lake/in/day=1/a%20b changed") {
		t.Error(r.notices)
	}
	if _, err := r.tryRead(s, "", at, 2); !errcode.Has(err, errcode.FileChanged) || !strings.Contains(err.Error(), "s3://lake/in/day=1/a%20b") {
		t.Error("a rerun after an object was replaced:", err)
	}
	must0(t, store.Delete(t.Context(), "in/day=1/a b"))
	if _, err := r.tryRead(s, "", at, 2); !errcode.Has(err, errcode.FileGone) {
		t.Error("a rerun after an object was deleted:", err)
	}
}

func TestFilesOnS3Conform(t *testing.T) {
	var r *rig
	var store objstore.Store
	fed := 0
	sourcetest.Run(t, sourcetest.Subject{
		Reset: func(t *testing.T) { r, store = onS3(t) },
		New: func(t *testing.T, alloc memory.Allocator) sources.Source {
			config := r.config
			config.Alloc = alloc
			s, err := New(config)
			must0(t, err)
			return s
		},
		Feed: func(t *testing.T, n int) {
			for range 10 {
				fed++
				put(t, store, fmt.Sprintf("%05d", fed), n/10)
			}
		},
		Step: sources.Limit{Files: 2},
	})
}
