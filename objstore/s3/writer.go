package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"microbatch/objstore"
)

const (
	partSize    = 8 << 20
	firstBuffer = 256 << 10 // grows to a part, so that many small objects at once stay small
	growEvery   = 1000      // parts after which parts get larger: S3 takes 10,000 of them
)

// Create begins an object.
func (s *Store) Create(ctx context.Context, key string) (objstore.Writer, error) {
	if err := check(ctx, s.prefix, key); err != nil {
		return nil, s.explain("create", key, err)
	}
	w := &writer{store: s, key: key, id: uuid.NewString()}
	ctx, w.cancel = context.WithCancel(ctx)
	w.uploads, ctx = errgroup.WithContext(ctx)
	w.begin = func() error { return w.beginUpload(ctx) }
	w.send = func(part *types.CompletedPart, data []byte) {
		w.uploads.Go(func() error { return w.sendPart(ctx, part, data) })
	}
	w.acquire = func() error { return s.parts.Acquire(ctx, 1) }
	w.failed = func() error { return context.Cause(ctx) }
	return w, nil
}

// writer fills a part while earlier ones are sent. Its methods are called by one goroutine; those that send parts end with Commit or Abort.
type writer struct {
	store *Store
	key   string
	id    string // of the put, in the object's metadata
	buf   []byte
	ended bool
	err   error // of a write; Commit repeats it

	upload  string                 // the multipart upload's id; "" while the object fits in one part
	parts   []*types.CompletedPart // a part is its sender's until uploads.Wait
	uploads *errgroup.Group
	cancel  context.CancelFunc

	// These run under the context of Create, which parts are sent under while the caller writes on.
	begin   func() error
	send    func(part *types.CompletedPart, data []byte)
	acquire func() error
	failed  func() error
}

// Write collects, and sends what makes a part.
func (w *writer) Write(p []byte) (n int, err error) {
	for len(p) > 0 && w.err == nil {
		room := w.size() - len(w.buf)
		if room == 0 {
			w.err = w.flush()
			continue
		}
		m := min(room, len(p))
		w.grow(m)
		w.buf = append(w.buf, p[:m]...)
		n, p = n+m, p[m:]
	}
	return n, w.store.explain("write", w.key, w.err)
}

// size is that of the part being filled.
func (w *writer) size() int { return partSize * (1 + len(w.parts)/growEvery) }

// grow makes room for n more bytes: small at first, then a whole part from the store's pool.
func (w *writer) grow(n int) {
	need := len(w.buf) + n
	if need <= cap(w.buf) {
		return
	}
	room := min(max(need, 2*cap(w.buf), firstBuffer), w.size())
	old := w.buf
	if room > partSize/4 && w.size() == partSize {
		w.buf = append(w.store.buffer(), old...)
	} else {
		w.buf = append(make([]byte, 0, room), old...)
	}
}

// buffer is an empty one for a part, used before if there is one.
func (s *Store) buffer() []byte {
	select {
	case b := <-s.buffers:
		return b
	default:
		return make([]byte, 0, partSize)
	}
}

// recycle keeps the buffer of a part that has been sent, unless enough are kept.
func (s *Store) recycle(b []byte) {
	if cap(b) != partSize {
		return
	}
	select {
	case s.buffers <- b[:0]:
	default:
	}
}

// flush sends the buffer as a part.
func (w *writer) flush() error {
	if w.upload == "" {
		if err := w.begin(); err != nil {
			return err
		}
	}
	if err := w.acquire(); err != nil {
		return w.failed() // says why the context has ended
	}
	part := &types.CompletedPart{PartNumber: aws.Int32(int32(len(w.parts) + 1))}
	w.parts = append(w.parts, part)
	w.send(part, w.buf)
	w.buf = nil
	return nil
}

func (w *writer) beginUpload(ctx context.Context) error {
	return w.store.retry(ctx, func(ctx context.Context) error {
		attempt, cancel := context.WithTimeout(ctx, attemptTime(0))
		defer cancel()
		out, err := w.store.client.CreateMultipartUpload(attempt, &sdk.CreateMultipartUploadInput{
			Bucket: aws.String(w.store.bucket), Key: aws.String(w.store.prefix + w.key), Metadata: map[string]string{putID: w.id},
		})
		if err == nil {
			w.upload = aws.ToString(out.UploadId)
		}
		return err
	})
}

func (w *writer) sendPart(ctx context.Context, part *types.CompletedPart, data []byte) error {
	defer w.store.parts.Release(1)
	tries := 0
	err := w.store.retry(ctx, func(ctx context.Context) error {
		tries++
		attempt, cancel := context.WithTimeout(ctx, attemptTime(int64(len(data))))
		defer cancel()
		out, err := w.store.client.UploadPart(attempt, &sdk.UploadPartInput{
			Bucket: aws.String(w.store.bucket), Key: aws.String(w.store.prefix + w.key),
			UploadId: aws.String(w.upload), PartNumber: part.PartNumber, Body: bytes.NewReader(data),
		})
		if err == nil {
			part.ETag = out.ETag
		}
		return err
	})
	if err == nil && tries == 1 {
		w.store.recycle(data) // else a request that was given up may still be reading it
	}
	return err
}

// Commit makes the object visible. After an error nothing is, except after ErrUncertain.
func (w *writer) Commit(ctx context.Context) error {
	if w.ended {
		return w.store.explain("commit", w.key, errors.New("the writer has ended"))
	}
	w.ended = true
	defer w.cancel()
	err := w.err
	if err == nil {
		err = ctx.Err()
	}
	if err == nil && w.upload == "" {
		return w.store.explain("commit", w.key, w.store.putAny(ctx, w.key, inMemory(w.buf), w.id))
	}
	if err == nil && len(w.buf) > 0 {
		err = w.flush()
	}
	if err != nil {
		w.cancel()
	}
	sent := w.uploads.Wait()
	if err == nil {
		err = sent
	}
	if err == nil {
		err = w.complete(ctx)
	}
	if err != nil && !errors.Is(err, objstore.ErrUncertain) {
		err = errors.Join(err, w.abortUpload(ctx))
	}
	return w.store.explain("commit", w.key, err)
}

// complete asks until it is answered. An upload that is gone after a lost answer has been completed, if the object has our id.
func (w *writer) complete(ctx context.Context) error {
	parts := make([]types.CompletedPart, len(w.parts))
	for i, p := range w.parts {
		parts[i] = *p
	}
	sent := false
	err := w.store.retry(ctx, func(ctx context.Context) error {
		attempt, cancel := context.WithTimeout(ctx, completeTime)
		defer cancel()
		_, err := w.store.client.CompleteMultipartUpload(attempt, &sdk.CompleteMultipartUploadInput{
			Bucket: aws.String(w.store.bucket), Key: aws.String(w.store.prefix + w.key), UploadId: aws.String(w.upload),
			MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
		})
		k := judge(ctx, err)
		if _, code := answer(err); sent && code == "NoSuchUpload" {
			return w.completed(ctx, err)
		}
		sent = sent || k == lost || k == canceled
		return err
	})
	if err != nil && sent && !errors.Is(err, objstore.ErrUncertain) {
		return fmt.Errorf("%w: %w", objstore.ErrUncertain, err)
	}
	return err
}

// completeTime limits one try: a server may take long to put thousands of parts together.
const completeTime = 2 * time.Minute

func (w *writer) completed(ctx context.Context, gone error) error {
	head, err := w.store.head(ctx, w.key)
	switch {
	case err != nil && worthAnother(ctx, err):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", objstore.ErrUncertain, errors.Join(gone, err))
	case head.Metadata[putID] == w.id:
		return nil
	}
	return fmt.Errorf("%w: %w", objstore.ErrUncertain, gone)
}

// Abort discards the parts. It works after ctx has ended too: leaving nothing behind is its purpose.
func (w *writer) Abort(ctx context.Context) error {
	if w.ended {
		return nil
	}
	w.ended = true
	w.cancel()
	w.store.recycle(w.buf)
	_ = w.uploads.Wait() // why a part was not sent no longer matters
	return w.store.explain("abort", w.key, w.abortUpload(ctx))
}

func (w *writer) abortUpload(ctx context.Context) error {
	if w.upload == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.store.retryFor)
	defer cancel()
	return w.store.abort(ctx, w.store.prefix+w.key, w.upload)
}
