package s3

import (
	"context"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"microbatch/objstore"
)

var (
	_ objstore.Store   = (*Store)(nil)
	_ objstore.Tidier  = (*Store)(nil)
	_ objstore.Clocked = (*Store)(nil)
)

// Delete removes an object.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := check(ctx, s.prefix, key); err != nil {
		return s.explain("delete", key, err)
	}
	err := s.retry(ctx, func(ctx context.Context) error {
		attempt, cancel := context.WithTimeout(ctx, attemptTime(0))
		defer cancel()
		_, err := s.client.DeleteObject(attempt, &sdk.DeleteObjectInput{Bucket: aws.String(s.bucket), Key: aws.String(s.prefix + key)})
		return err
	})
	if judge(ctx, err) == missing {
		return nil
	}
	return s.explain("delete", key, err)
}

// Sync looks whether the object is there: what S3 has answered for is durable.
func (s *Store) Sync(ctx context.Context, key string) error {
	_, err := s.stat(ctx, "sync", key)
	return err
}

// Lock does nothing: S3 has no locks, and fencing is by epoch.
func (s *Store) Lock(ctx context.Context, key string) (io.Closer, error) {
	if err := check(ctx, s.prefix, key); err != nil {
		return nil, s.explain("lock", key, err)
	}
	return noLock{}, nil
}

type noLock struct{}

func (noLock) Close() error { return nil }

// Tidy aborts multipart uploads below a prefix that were begun before a time: their parts cost money and no listing shows them.
// MinIO shows an upload only to who asks for its very key; it drops them by itself after a day.
func (s *Store) Tidy(ctx context.Context, prefix string, before time.Time) (n int, err error) {
	in := &sdk.ListMultipartUploadsInput{Bucket: aws.String(s.bucket), Prefix: aws.String(s.prefix + prefix)}
	for {
		var out *sdk.ListMultipartUploadsOutput
		err := s.retry(ctx, func(ctx context.Context) (err error) {
			attempt, cancel := context.WithTimeout(ctx, attemptTime(0))
			defer cancel()
			out, err = s.client.ListMultipartUploads(attempt, in)
			return err
		})
		if err != nil {
			return n, s.explain("tidy", prefix, err)
		}
		for _, u := range out.Uploads {
			if !aws.ToTime(u.Initiated).Before(before) {
				continue
			}
			if err := s.abort(ctx, aws.ToString(u.Key), aws.ToString(u.UploadId)); err != nil {
				return n, s.explain("tidy", prefix, err)
			}
			n++
		}
		if !aws.ToBool(out.IsTruncated) {
			return n, nil
		}
		in.KeyMarker, in.UploadIdMarker = out.NextKeyMarker, out.NextUploadIdMarker
	}
}

// abort ends a multipart upload, key as the server knows it. One that is gone is no error.
func (s *Store) abort(ctx context.Context, fullKey, upload string) error {
	err := s.retry(ctx, func(ctx context.Context) error {
		attempt, cancel := context.WithTimeout(ctx, attemptTime(0))
		defer cancel()
		_, err := s.client.AbortMultipartUpload(attempt, &sdk.AbortMultipartUploadInput{
			Bucket: aws.String(s.bucket), Key: aws.String(fullKey), UploadId: aws.String(upload),
		})
		return err
	})
	if _, code := answer(err); code == "NoSuchUpload" {
		return nil
	}
	return err
}
