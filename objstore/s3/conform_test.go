package s3_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"microbatch/internal/secret"
	"microbatch/internal/services"
	"microbatch/objstore"
	"microbatch/objstore/s3"
	"microbatch/objstore/storetest"
)

func TestMinIOConforms(t *testing.T) {
	t.Parallel()
	conform(t, services.MinIO(t))
}

func TestVersityGWConforms(t *testing.T) {
	t.Parallel()
	conform(t, services.VersityGW(t))
}

func conform(t *testing.T, server services.S3Server) {
	storetest.Run(t, func(t *testing.T) objstore.Store {
		return open(t, s3.Config{
			Bucket: server.NewBucket(t), Prefix: "some/prefix", Endpoint: server.Endpoint, Region: server.Region, PathStyle: true,
			AccessKey: secret.Of(server.AccessKey), SecretKey: secret.Of(server.SecretKey),
		})
	})
}

func TestInProcessServerConforms(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) objstore.Store { return open(t, fake(t)) })
}

// fake is an S3 server in this process with one empty bucket.
func fake(t *testing.T) s3.Config {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	return s3.Config{
		Bucket: "bucket", Endpoint: server.URL, PathStyle: true, Region: "us-east-1",
		AccessKey: secret.Of("AKIAFAKE"), SecretKey: secret.Of("fake-secret-key"),
	}
}

func open(t *testing.T, c s3.Config) *s3.Store {
	t.Helper()
	s, err := s3.New(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
