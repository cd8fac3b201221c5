package s3

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"microbatch/objstore"
)

// Get reads a whole object.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := check(ctx, s.prefix, key); err != nil {
		return nil, s.explain("get", key, err)
	}
	var data []byte
	err := s.retry(ctx, func(ctx context.Context) (err error) {
		attempt, cancel := context.WithTimeout(ctx, attemptTime(64<<20))
		defer cancel()
		data, err = s.fetch(attempt, key, "", "")
		return err
	})
	return data, s.explain("get", key, asMissing(ctx, err))
}

// fetch reads an object, or a range of it, once. A body that ends early is an error.
func (s *Store) fetch(ctx context.Context, key, byteRange, etag string) ([]byte, error) {
	in := &sdk.GetObjectInput{Bucket: aws.String(s.bucket), Key: aws.String(s.prefix + key)}
	if byteRange != "" {
		in.Range = aws.String(byteRange)
	}
	if etag != "" {
		in.IfMatch = aws.String(etag)
	}
	out, err := s.client.GetObject(ctx, in)
	if err != nil {
		return nil, err
	}
	defer out.Body.Close()
	if out.ContentLength == nil {
		return io.ReadAll(out.Body)
	}
	return readExactly(out.Body, *out.ContentLength)
}

// trusted is how many bytes are made room for on the word of a server alone.
const trusted = 16 << 20

// readExactly reads as much as the server has announced. A body that ends early is an error.
func readExactly(body io.Reader, length int64) ([]byte, error) {
	data := bytes.NewBuffer(make([]byte, 0, min(max(length, 0), trusted)+bytes.MinRead)) // with less room to spare the end is found by a second buffer and a copy
	n, err := io.Copy(data, io.LimitReader(body, length))
	if err != nil || n != length {
		return nil, fmt.Errorf("read %d bytes of %d: %w", n, length, io.ErrUnexpectedEOF)
	}
	return data.Bytes(), nil
}

// Stat describes an object.
func (s *Store) Stat(ctx context.Context, key string) (objstore.Info, error) {
	return s.stat(ctx, "stat", key)
}

func (s *Store) stat(ctx context.Context, op, key string) (objstore.Info, error) {
	if err := check(ctx, s.prefix, key); err != nil {
		return objstore.Info{}, s.explain(op, key, err)
	}
	var head *sdk.HeadObjectOutput
	err := s.retry(ctx, func(ctx context.Context) (err error) {
		head, err = s.head(ctx, key)
		return err
	})
	if err != nil {
		return objstore.Info{}, s.explain(op, key, asMissing(ctx, err))
	}
	return objstore.Info{Key: key, Size: aws.ToInt64(head.ContentLength), Modified: aws.ToTime(head.LastModified), ETag: aws.ToString(head.ETag)}, nil
}

func (s *Store) head(ctx context.Context, key string) (*sdk.HeadObjectOutput, error) {
	attempt, cancel := context.WithTimeout(ctx, attemptTime(0))
	defer cancel()
	return s.client.HeadObject(attempt, &sdk.HeadObjectInput{Bucket: aws.String(s.bucket), Key: aws.String(s.prefix + key)})
}

// asMissing makes a 404 for an object fs.ErrNotExist.
func asMissing(ctx context.Context, err error) error {
	if err != nil && judge(ctx, err) == missing {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}

// Open opens an object for reading by ranges. Its content is that of the moment: an object that is replaced meanwhile gives errors, not a mixture.
func (s *Store) Open(ctx context.Context, key string) (objstore.Object, error) {
	info, err := s.stat(ctx, "open", key)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(ctx)
	fetch := func(off, length int64) (data []byte, err error) {
		err = s.retry(life, func(ctx context.Context) error {
			attempt, cancel := context.WithTimeout(ctx, attemptTime(length))
			defer cancel()
			data, err = s.fetch(attempt, key, fmt.Sprintf("bytes=%d-%d", off, off+length-1), info.ETag)
			if err == nil && int64(len(data)) != length {
				err = fmt.Errorf("asked for %d bytes, have %d: %w", length, len(data), io.ErrUnexpectedEOF)
			}
			return err
		})
		return data, s.explain("read", key, asMissing(life, err))
	}
	return &object{size: info.Size, fetch: fetch, end: end}, nil
}
