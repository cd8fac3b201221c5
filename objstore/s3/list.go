package s3

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"microbatch/objstore"
)

// List pages through ListObjectsV2.
func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		l := lister{store: s, prefix: prefix, last: after}
		for more := true; more; {
			page, err := l.page(ctx)
			if err != nil {
				yield(objstore.Info{}, s.explain("list", prefix, err))
				return
			}
			for _, info := range page {
				if !yield(info, nil) {
					return
				}
			}
			more = l.token != nil
		}
	}
}

type lister struct {
	store  *Store
	prefix string
	last   string  // the last key given out, or where to start; a page without a token begins behind it
	token  *string // of the next page; nil at the start and at the end
}

// page fetches the next page and checks what the log readers rely on: ascending order.
func (l *lister) page(ctx context.Context) ([]objstore.Info, error) {
	first := l.token == nil
	out, err := l.fetch(ctx)
	if err != nil && l.token != nil && isExpired(err) { // a reader that took its time: the server has forgotten where it was
		first, l.token = true, nil
		out, err = l.fetch(ctx)
	}
	if err != nil {
		return nil, err
	}
	if out.IsTruncated == nil {
		return nil, fmt.Errorf("the answer is no listing") // of a proxy, perhaps: it must not pass for an empty one
	}
	l.token = nil
	if aws.ToBool(out.IsTruncated) {
		l.token = out.NextContinuationToken
		if l.token == nil {
			return nil, fmt.Errorf("the server ends a page without saying how to go on")
		}
	}
	infos := make([]objstore.Info, 0, len(out.Contents))
	for _, o := range out.Contents {
		info, err := l.info(o, out.EncodingType)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(info.Key, "/") {
			continue
		}
		if info.Key <= l.last {
			if first && len(infos) == 0 {
				continue // a server that starts too early, at the starting point or before it
			}
			return nil, fmt.Errorf("the server lists %q after %q: not in order", info.Key, l.last)
		}
		l.last = info.Key
		infos = append(infos, info)
	}
	return infos, nil
}

func (l *lister) fetch(ctx context.Context) (out *sdk.ListObjectsV2Output, err error) {
	in := &sdk.ListObjectsV2Input{
		Bucket:            aws.String(l.store.bucket),
		Prefix:            aws.String(l.store.prefix + l.prefix),
		ContinuationToken: l.token,
		EncodingType:      types.EncodingTypeUrl, // XML cannot say every key
	}
	if l.last != "" && l.token == nil {
		in.StartAfter = aws.String(l.store.prefix + l.last)
	}
	err = l.store.retry(ctx, func(ctx context.Context) error {
		attempt, cancel := context.WithTimeout(ctx, attemptTime(1<<20))
		defer cancel()
		out, err = l.store.client.ListObjectsV2(attempt, in)
		return err
	})
	return out, err
}

// isExpired reports whether a server no longer knows its own continuation token.
func isExpired(err error) bool {
	status, code := answer(err)
	return status == http.StatusBadRequest && (code == "InvalidArgument" || code == "InvalidContinuationToken" || code == "InvalidRequest")
}

func (l *lister) info(o types.Object, encoding types.EncodingType) (objstore.Info, error) {
	key := aws.ToString(o.Key)
	if encoding == types.EncodingTypeUrl {
		plain, err := url.QueryUnescape(key)
		if err != nil {
			return objstore.Info{}, fmt.Errorf("the server lists a key that does not decode: %w", err)
		}
		key = plain
	}
	if !strings.HasPrefix(key, l.store.prefix+l.prefix) {
		return objstore.Info{}, fmt.Errorf("the server lists %q, which does not belong to %s", key, l.store.place(l.prefix))
	}
	key = strings.TrimPrefix(key, l.store.prefix)
	return objstore.Info{Key: key, Size: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified), ETag: aws.ToString(o.ETag)}, nil
}
