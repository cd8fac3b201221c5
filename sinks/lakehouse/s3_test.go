package lakehouse

import (
	"net/http/httptest"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"microbatch/internal/secret"
	"microbatch/objstore/faultstore"
	"microbatch/objstore/s3"
	"microbatch/sinks/sinktest"
)

// TestConformanceOnS3 runs the suite on a table in a bucket, with the adapter for S3 and a server in the same process.
func TestConformanceOnS3(t *testing.T) {
	for _, format := range []string{"parquet", "delta"} {
		t.Run(format, func(t *testing.T) {
			sinktest.Run(t, func(t *testing.T) sinktest.Harness {
				backend := s3mem.New()
				if err := backend.CreateBucket("lake"); err != nil {
					t.Fatal(err)
				}
				server := httptest.NewServer(gofakes3.New(backend).Server())
				t.Cleanup(server.Close)
				store, err := s3.New(t.Context(), s3.Config{
					Bucket: "lake", Prefix: "orders", Endpoint: server.URL, Region: "us-east-1", PathStyle: true,
					AccessKey: secret.Of("k"), SecretKey: secret.Of("s"),
				})
				if err != nil {
					t.Fatal(err)
				}
				return place{store: faultstore.New(store), format: format, by: []string{"name"}}.harness()
			})
		})
	}
}
