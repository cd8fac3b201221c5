package services

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/uuid"
)

// S3Server is a running S3-compatible server. It wants path-style requests.
type S3Server struct {
	Name      string
	Endpoint  string // http://127.0.0.1:port
	Region    string
	AccessKey string
	SecretKey string
	Process   *Running
}

// NewBucket makes an empty bucket with a fresh name.
func (s S3Server) NewBucket(t testing.TB) string {
	t.Helper()
	bucket := "test-" + uuid.NewString()
	if err := s.MakeBucket(t.Context(), bucket); err != nil {
		t.Fatalf("services: %s: create bucket: %v", s.Name, err)
	}
	return bucket
}

// MakeBucket makes an empty bucket.
func (s S3Server) MakeBucket(ctx context.Context, bucket string) error {
	_, err := s.client(s.Endpoint).CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(bucket)})
	return err
}

func (s S3Server) client(endpoint string) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String(endpoint),
		Region:       s.Region,
		UsePathStyle: true,
		Credentials:  credentials.NewStaticCredentialsProvider(s.AccessKey, s.SecretKey, ""),
		Retryer:      aws.NopRetryer{},
	})
}

// answers is a Ready that wants the server's health URL to be well, and an answer to a real request: MinIO is healthy before it knows its users.
func (s S3Server) answers(endpoint, health string) func(context.Context) error {
	well, client := healthy(endpoint+health), s.client(endpoint)
	return func(ctx context.Context) error {
		if err := well(ctx); err != nil {
			return err
		}
		_, err := client.ListBuckets(ctx, &s3.ListBucketsInput{})
		return err
	}
}

// healthy is a Ready that wants a 200 from a URL.
func healthy(url string) func(context.Context) error {
	client := &http.Client{Timeout: 2 * time.Second}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", url, resp.Status)
		}
		return nil
	}
}

// onFreePort starts a server on a free port, and on another one if somebody was faster.
func onFreePort(start func(address string) (*Running, error)) (*Running, string, error) {
	for try := 0; ; try++ {
		port, err := FreePort()
		if err != nil {
			return nil, "", err
		}
		address := fmt.Sprintf("127.0.0.1:%d", port)
		r, err := start(address)
		if err == nil || try == 2 || !strings.Contains(err.Error(), "address already in use") {
			return r, "http://" + address, err
		}
	}
}
