package s3_test

import (
	"context"
	"fmt"
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
		c := configOf(t, server)
		c.Prefix = "some/prefix"
		return open(t, c)
	})
}

func TestInProcessServerConforms(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) objstore.Store { return open(t, fake(t)) })
}

// Three clients of one bucket, as three processes have them, on each server.
func TestClientsOfOneBucketAreLinearizable(t *testing.T) {
	t.Parallel()
	minio, versity := services.MinIO(t), services.VersityGW(t)
	for name, c := range map[string]s3.Config{"in process": fake(t), minio.Name: configOf(t, minio), versity.Name: configOf(t, versity)} {
		for n := range 2 {
			c.Prefix = fmt.Sprint("history", n)
			if storetest.Linearizable(t, []objstore.Store{open(t, c), open(t, c), open(t, c)}, storetest.Mixed()...); t.Failed() {
				t.Fatalf("on %s", name)
			}
		}
	}
}

func configOf(t *testing.T, server services.S3Server) s3.Config {
	return s3.Config{
		Bucket: server.NewBucket(t), Endpoint: server.Endpoint, Region: server.Region, PathStyle: true,
		AccessKey: secret.Of(server.AccessKey), SecretKey: secret.Of(server.SecretKey),
	}
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
