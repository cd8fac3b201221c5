//go:build failpoints

package crashtest

import (
	"fmt"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"microbatch/internal/secret"
	"microbatch/internal/sim/world"
	"microbatch/objstore"
	"microbatch/objstore/s3"
)

// bucket is a server of S3 in this process. Each life has prefixes of its own in it.
type bucket struct {
	url   string
	lives atomic.Int64
}

func newBucket(t *testing.T) *bucket {
	backend := s3mem.New()
	if err := backend.CreateBucket("lake"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	return &bucket{url: server.URL}
}

// stores are those of another life.
func (b *bucket) stores(t *testing.T) map[string]objstore.Store {
	n := b.lives.Add(1)
	out := map[string]objstore.Store{}
	for _, place := range world.Places() {
		s, err := s3.New(t.Context(), s3.Config{
			Bucket: "lake", Prefix: fmt.Sprintf("%d/%s", n, place), Endpoint: b.url, Region: "us-east-1", PathStyle: true,
			AccessKey: secret.Of("k"), SecretKey: secret.Of("s"),
		})
		if err != nil {
			t.Fatal(err)
		}
		out[place] = s
	}
	return out
}
