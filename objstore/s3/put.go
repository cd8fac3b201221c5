package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/uuid"

	"microbatch/internal/bugs"
	"microbatch/internal/failpoint"
	"microbatch/internal/retry"
	"microbatch/objstore"
)

// putID is the metadata key under which an object says which put made it.
const putID = "microbatch-put"

// PutIfAbsent creates an object: the table in the package comment says how each answer is taken.
func (s *Store) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	if err := check(ctx, s.prefix, key); err != nil {
		return s.explain("put", key, err)
	}
	return s.putOnce(ctx, key, inMemory(bytes.Clone(data))) // a request that is given up may go on reading
}

// PutContentIfAbsent is PutIfAbsent for content that is sent while it is read.
func (s *Store) PutContentIfAbsent(ctx context.Context, key string, content objstore.Content) error {
	if err := check(ctx, s.prefix, key); err != nil {
		return s.explain("put", key, err)
	}
	return s.putOnce(ctx, key, content)
}

func (s *Store) putOnce(ctx context.Context, key string, content objstore.Content) error {
	p := &put{store: s, key: key, content: content, id: uuid.NewString()}
	return s.explain("put", key, p.run(ctx))
}

// inMemory is content that is small.
type inMemory []byte

func (m inMemory) Size() int64 { return int64(len(m)) }

func (m inMemory) Reader() io.ReadSeeker { return bytes.NewReader(m) }

// put is one conditional put and what is known of it so far.
type put struct {
	store   *Store
	key     string
	content objstore.Content
	id      string

	lost   bool // an answer was lost: the object may be ours
	denied int  // how often access was denied
}

// errAgain asks for another try.
var errAgain = errors.New("not settled")

func (p *put) run(ctx context.Context) error {
	err := retry.Do(ctx, p.store.policy(), isAgain, p.try)
	if err == nil || errors.Is(err, fs.ErrExist) || !p.lost || errors.Is(err, objstore.ErrUncertain) {
		return err
	}
	return fmt.Errorf("%w: %w", objstore.ErrUncertain, err) // also after a refusal: the lost one may have been granted
}

func isAgain(err error) bool { return errors.Is(err, errAgain) }

// try sends the put once and takes the answer.
func (p *put) try(ctx context.Context) error {
	attempt, cancel := context.WithTimeout(ctx, attemptTime(p.content.Size()))
	defer cancel()
	body := &body{ReadSeeker: p.content.Reader()}
	err := p.store.putObject(attempt, p.key, body, p.id, "*")
	if cause := body.failed.Load(); err != nil && cause != nil { // so it was not sent to its end, and no server has taken it
		return *cause
	}
	switch judge(ctx, err) {
	case done:
		return nil
	case taken:
		if !p.lost && p.denied == 0 || bugs.Is(bugs.TakenIsAnothers) {
			return fs.ErrExist
		}
		return p.whose(ctx)
	case asksWho:
		p.lost = true
		return p.whose(ctx)
	case again, unsent:
		return fmt.Errorf("%w: %w", errAgain, err)
	case lost:
		p.lost = true
		return fmt.Errorf("%w: %w", errAgain, err)
	case canceled:
		p.lost = true
		return err
	}
	if isDenied(err) && p.denied < deniedTries {
		p.denied++
		return fmt.Errorf("%w: %w", errAgain, err)
	}
	return err
}

// A body is what a request sends, and remembers whether it could be read. A request that is given up may go on reading it.
type body struct {
	io.ReadSeeker
	failed atomic.Pointer[error]
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadSeeker.Read(p)
	if err != nil && err != io.EOF {
		b.failed.Store(&err)
	}
	return n, err
}

// whose reads who won. An object that is gone again could have been ours: that stays unknown.
func (p *put) whose(ctx context.Context) error {
	head, err := p.store.head(ctx, p.key)
	switch {
	case err != nil && worthAnother(ctx, err):
		return fmt.Errorf("%w: %w", errAgain, err)
	case err != nil:
		return fmt.Errorf("%w: read who won: %w", objstore.ErrUncertain, err)
	case head.Metadata[putID] == p.id:
		return nil
	}
	return fs.ErrExist
}

// Put creates or replaces an object. A repeated one writes the same bytes.
func (s *Store) Put(ctx context.Context, key string, data []byte) error {
	if err := check(ctx, s.prefix, key); err != nil {
		return s.explain("put", key, err)
	}
	return s.explain("put", key, s.putAny(ctx, key, inMemory(bytes.Clone(data)), uuid.NewString()))
}

// PutContent is Put for content that is sent while it is read.
func (s *Store) PutContent(ctx context.Context, key string, content objstore.Content) error {
	if err := check(ctx, s.prefix, key); err != nil {
		return s.explain("put", key, err)
	}
	return s.explain("put", key, s.putAny(ctx, key, content, uuid.NewString()))
}

// putAny puts until it is answered. If it never is, but was sent, the outcome is uncertain.
func (s *Store) putAny(ctx context.Context, key string, content objstore.Content, id string) error {
	sent, unread := false, error(nil)
	err := s.retry(ctx, func(ctx context.Context) error {
		attempt, cancel := context.WithTimeout(ctx, attemptTime(content.Size()))
		defer cancel()
		body := &body{ReadSeeker: content.Reader()}
		err := s.putObject(attempt, key, body, id, "")
		if cause := body.failed.Load(); err != nil && cause != nil { // so it was not sent to its end, and no server has taken it; nor is it worth another try
			unread = *cause
			return nil
		}
		k := judge(ctx, err)
		sent = sent || k == lost || k == canceled
		return err
	})
	if err == nil {
		err = unread
	}
	if err != nil && sent {
		return fmt.Errorf("%w: %w", objstore.ErrUncertain, err)
	}
	return err
}

func (s *Store) putObject(ctx context.Context, key string, body io.ReadSeeker, id, ifNoneMatch string) error {
	in := &sdk.PutObjectInput{
		Bucket:   aws.String(s.bucket),
		Key:      aws.String(s.prefix + key),
		Body:     body,
		Metadata: map[string]string{putID: id},
	}
	if ifNoneMatch != "" {
		in.IfNoneMatch = aws.String(ifNoneMatch)
	}
	failpoint.Hit("s3.put.before")
	_, err := s.client.PutObject(ctx, in)
	failpoint.Hit("s3.put.after")
	return err
}

// policy is how this store repeats requests.
func (s *Store) policy() retry.Policy {
	return retry.Policy{First: 50 * time.Millisecond, Max: 3 * time.Second, Budget: s.retryFor, Wanted: wanted}
}

// retry repeats a request that does the same however often it is done.
func (s *Store) retry(ctx context.Context, op func(ctx context.Context) error) error {
	return retry.Do(ctx, s.policy(), retryable(ctx), op)
}

// maxKey is the longest key that S3 takes, in bytes.
const maxKey = 1024

func check(ctx context.Context, prefix, key string) error {
	if err := errors.Join(ctx.Err(), objstore.ValidKey(key)); err != nil {
		return err
	}
	if n := len(prefix) + len(key); n > maxKey {
		return fmt.Errorf("a key of %d bytes is too long, S3 takes %d", n, maxKey)
	}
	return nil
}
