package pipeline

import (
	"cmp"
	"context"
	"os"
	"strings"

	"microbatch/internal/secret"
	"microbatch/query"
)

// QueryTable is a folder or s3:// prefix as a table for package query, with what DuckDB needs to read it by itself.
func (s *Stores) QueryTable(ctx context.Context, path string) (query.Table, error) {
	store, err := s.At(ctx, path)
	if err != nil {
		return query.Table{}, err
	}
	t := query.Table{Store: store}
	if rest, ok := strings.CutPrefix(path, "s3://"); ok {
		bucket, prefix, _ := strings.Cut(rest, "/")
		t.S3 = s.querySettings(bucket, prefix)
	}
	return t, nil
}

// querySettings is how DuckDB reaches a bucket: by the keys that are configured, or those of the AWS variables. Without any it does not, and our own reader, which
// knows profiles and roles too, takes its place.
func (s *Stores) querySettings(bucket, prefix string) *query.S3 {
	c := s.bucket(bucket, prefix)
	q := &query.S3{Endpoint: c.Endpoint, Region: c.Region, PathStyle: c.PathStyle, AccessKey: c.AccessKey, SecretKey: c.SecretKey, SessionToken: c.SessionToken}
	if q.AccessKey.IsZero() {
		q.AccessKey, q.SecretKey = variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")
		q.SessionToken = variable("AWS_SESSION_TOKEN")
	}
	if q.AccessKey.IsZero() {
		return nil
	}
	q.Region = cmp.Or(q.Region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), "us-east-1")
	q.Endpoint = cmp.Or(q.Endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
	return q
}

func variable(name string) secret.Secret { return secret.Of(os.Getenv(name)) }
