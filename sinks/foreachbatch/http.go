package foreachbatch

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"microbatch/codec"
	"microbatch/codec/column"
	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/internal/retry"
	"microbatch/internal/secret"
	"microbatch/objstore"
)

// HTTPConfig says how rows are sent to a service.
type HTTPConfig struct {
	// URL takes the requests. It holds no secrets.
	URL string
	// Method is POST if "".
	Method string
	// Headers are sent with each request. Their values are never printed.
	Headers map[string]secret.Secret
	// OperationID are the columns that tell rows apart for ever: for Kafka _topic, _partition and _offset. Their values, joined by "-", are the Idempotency-Key.
	OperationID []string
	// Encoder makes the body of a row; ContentType says what it is.
	Encoder     func(*arrow.Schema) (codec.Encoder, error)
	ContentType string
	// Parallel is how many requests are on their way at once; 0 is 8. With 1, rows go one after another; the order of rows is not promised either way.
	Parallel int
	// PerSecond is how many requests begin in a second, at most; 0: as many as it takes.
	PerSecond float64
	// Timeout of a request; 0 is 30 s.
	Timeout time.Duration
	// RetryFor is how long a request is repeated that was not answered, or with 408, 409, 425, 429 or 5xx; 0 is 2 minutes.
	RetryFor time.Duration
	// Quarantine takes the rows of a batch that the service refuses for what they are (400, 410, 413, 415, 422 and the like), as JSON lines, Size 0 if there are none. They are on local disk.
	// It is called at the end of each batch, again if the batch comes again: what it is given then counts. nil: such a row is an error.
	Quarantine func(ctx context.Context, b Batch, lines objstore.Content) error
	// SpoolDir is where refused rows are until the end of their batch; the system's folder for temporary files if "".
	SpoolDir string
	// Client does the requests; nil: one of its own, which follows no redirects.
	Client *http.Client
}

// IdempotencyKey is the header that says which operation a request is: a service that knows it does nothing twice.
const IdempotencyKey = "Idempotency-Key"

// HTTP makes a function for Config.Func that sends each row of a batch as a request of its own. A batch that comes again is sent again, with the same keys: once
// for a service that honours them.
func HTTP(c HTTPConfig) (func(ctx context.Context, b Batch) error, error) {
	var faults []error
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		faults = append(faults, errors.New("the URL must be http://... or https://..., without a user"))
	}
	if len(c.OperationID) == 0 || c.Encoder == nil {
		faults = append(faults, errors.New("columns of the operation's id and an encoder are required"))
	}
	if c.Parallel < 0 || c.PerSecond < 0 || c.Timeout < 0 || c.RetryFor < 0 {
		faults = append(faults, errors.New("a limit is negative"))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	c.Method = or(c.Method, http.MethodPost)
	c.Parallel = or(c.Parallel, 8)
	c.Timeout = or(c.Timeout, 30*time.Second)
	c.RetryFor = or(c.RetryFor, 2*time.Minute)
	if c.Client == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost, transport.MaxConnsPerHost = c.Parallel, c.Parallel
		c.Client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	return (&caller{HTTPConfig: c, pace: &pace{every: every(c.PerSecond)}}).batch, nil
}

// Check says whether rows of a schema have the columns of OperationID: for Config.Check.
func (c HTTPConfig) Check(in *arrow.Schema) error {
	_, err := c.ids(in)
	return err
}

// ids are the places of the columns of OperationID.
func (c HTTPConfig) ids(schema *arrow.Schema) (ids []int, err error) {
	for _, name := range c.OperationID {
		found := schema.FieldIndices(name)
		if len(found) != 1 {
			return nil, errcode.HTTPColumns.New(c.URL, "the rows have no column %s", name)
		}
		ids = append(ids, found[0])
	}
	return ids, nil
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// caller sends rows.
type caller struct {
	HTTPConfig
	pace *pace
}

// call is one row on its way.
type call struct {
	key  string
	body []byte
}

// batch sends all rows, several at once, and puts aside those that are refused.
func (c *caller) batch(ctx context.Context, b Batch) error {
	refused, calling := &refusals{dir: c.SpoolDir}, ctx
	defer refused.close()
	calls := make(chan call)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(calls)
		return c.rows(ctx, b, calls)
	})
	for range c.Parallel {
		g.Go(func() error {
			for call := range calls {
				if err := c.send(ctx, b, call, refused); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if c.Quarantine == nil {
		return nil
	}
	if err := refused.end(); err != nil {
		return err
	}
	return c.Quarantine(calling, b, refused)
}

// rows makes the calls.
func (c *caller) rows(ctx context.Context, b Batch, calls chan<- call) error {
	encoder, err := c.Encoder(b.Schema)
	if err != nil {
		return err
	}
	ids, err := c.ids(b.Schema)
	if err != nil {
		return err
	}
	reader, err := b.Rows()
	if err != nil {
		return err
	}
	defer reader.Release()
	for reader.Next() {
		r := reader.RecordBatch()
		for row := range int(r.NumRows()) {
			key, err := operationID(r, ids, row)
			if err != nil {
				return errcode.HTTPColumns.Wrap(err, place(b), "")
			}
			body, err := encoder.AppendRow(nil, r, row)
			if err != nil {
				return err
			}
			select {
			case calls <- call{key, body}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return reader.Err()
}

// operationID joins the values of columns.
func operationID(r arrow.RecordBatch, columns []int, row int) (string, error) {
	var key []byte
	for n, i := range columns {
		if r.Column(i).IsNull(row) {
			return "", fmt.Errorf("column %s of the operation's id is null", r.ColumnName(i))
		}
		if n > 0 {
			key = append(key, '-')
		}
		var err error
		if key, err = column.AppendScalar(key, r.Column(i), row); err != nil {
			return "", fmt.Errorf("column %s: %w", r.ColumnName(i), err)
		}
	}
	for _, c := range key {
		if c < ' ' || c >= 0x7f { // RFC 9110, section 5.5
			return "", fmt.Errorf("the operation's id %q cannot stand in a header", key)
		}
	}
	return string(key), nil
}

// answer is what came back, when it was no success.
type answer struct {
	status int
	text   string
	after  time.Duration // that the service asks to wait
}

func (a *answer) Error() string {
	return fmt.Sprintf("%d %s%s", a.status, http.StatusText(a.status), a.text)
}

// again reports whether the same request may be answered otherwise later.
func (a *answer) again() bool {
	switch a.status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return a.status >= 500
}

// refusesRow reports whether the service refuses the row for what it is. 401, 403, 404, 405 and 407 would refuse every row.
func (a *answer) refusesRow() bool {
	switch a.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusProxyAuthRequired:
		return false
	}
	return a.status >= 400 && a.status < 500 && !a.again()
}

// send sends one row until it is answered for good.
func (c *caller) send(ctx context.Context, b Batch, call call, refused *refusals) error {
	policy := retry.Policy{Budget: c.RetryFor, Max: 10 * time.Second, Wanted: func(err error) time.Duration {
		a, _ := errors.AsType[*answer](err)
		if a == nil {
			return 0
		}
		return a.after
	}}
	worth := func(err error) bool {
		a, answered := errors.AsType[*answer](err)
		return !answered || a.again()
	}
	err := retry.Do(ctx, policy, worth, func(ctx context.Context) error { return c.once(ctx, call) })
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	a, answered := errors.AsType[*answer](err)
	switch at := fmt.Sprintf("%s, operation %s", place(b), call.key); {
	case answered && a.refusesRow() && c.Quarantine != nil:
		return refused.add(call, a)
	case answered && !a.again():
		return errcode.HTTPRefused.Wrap(err, at, "")
	default:
		return errcode.HTTPUnanswered.Wrap(err, at, "for %s", c.RetryFor)
	}
}

// excerpt is how much of an answer is kept for people.
const excerpt = 200

// once sends the request.
func (c *caller) once(ctx context.Context, call call) error {
	if err := c.pace.wait(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, c.Method, c.URL, bytes.NewReader(call.body))
	if err != nil {
		return err
	}
	for name, value := range c.Headers {
		req.Header.Set(name, value.Expose())
	}
	req.Header.Set("Content-Type", c.ContentType)
	req.Header.Set(IdempotencyKey, call.key)
	if bugs.Is(bugs.KeyOfAttempt) {
		req.Header.Set(IdempotencyKey, call.key+"-"+rand.Text())
	}
	resp, err := c.Client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, excerpt))
	if err == nil {
		_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // so that the connection can be used again
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return nil // it was applied, whatever became of the rest of the answer
	}
	a := &answer{status: resp.StatusCode, after: retryAfter(resp.Header.Get("Retry-After"), time.Now())}
	if len(text) > 0 && err == nil {
		a.text = ": " + strings.Map(visible, strings.ToValidUTF8(string(text), "�"))
	}
	return a
}

// retryAfter is the pause that a header asks for (RFC 9110, section 10.2.3); 0 for none.
func retryAfter(value string, now time.Time) time.Duration {
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	if d, err := time.ParseDuration(value + "s"); err == nil && d > 0 {
		return d
	}
	return 0
}

// pace lets one begin each time.
type pace struct {
	every time.Duration
	mu    sync.Mutex
	next  time.Time
}

// every is the time between two of so many in a second; 0 for no limit.
func every(perSecond float64) time.Duration {
	if perSecond <= 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / perSecond)
}

// wait returns when it is the caller's turn, or when ctx ends.
func (p *pace) wait(ctx context.Context) error {
	if p.every == 0 {
		return nil
	}
	p.mu.Lock()
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	turn := p.next
	p.next = p.next.Add(p.every)
	p.mu.Unlock()
	select {
	case <-time.After(turn.Sub(now)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
