package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"microbatch/internal/errcode"
	"microbatch/internal/retry"
	"microbatch/internal/secret"
)

// Config says where a registry is and how it is entered.
type Config struct {
	URL      string        // http:// or https://, with the path of the API if it has one; no credentials
	User     string        // "": no login
	Password secret.Secret // of User
	Insecure bool          // permits a login without TLS, which sends the password readable
	RetryFor time.Duration // how long a registry that does not answer is asked again; 0 is 30 s

	// DialTLS makes the connections of https; nil trusts the system's certificates.
	DialTLS func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client asks a registry. It may be used by many goroutines.
type Client struct {
	config Config
	api    *sr.Client
}

// New makes a client, or lists all that is wrong with the configuration. Nothing is asked yet.
func New(c Config) (*Client, error) {
	var faults []string
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		faults = append(faults, "url: want http://host:port or https://host:port")
	case u.User != nil:
		faults = append(faults, "url: it holds no credentials; they belong into user and password")
	case u.Scheme == "http" && c.User != "" && !c.Insecure:
		faults = append(faults, "a login without TLS sends the password readable: use https, or permit it (insecure)")
	}
	if (c.User == "") != c.Password.IsZero() {
		faults = append(faults, "user and password go together")
	}
	if len(faults) > 0 {
		return nil, errcode.RegistryAnswer.New("", "schema registry: %s", strings.Join(faults, "; "))
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if c.DialTLS != nil {
		transport.DialTLSContext = c.DialTLS
	}
	options := []sr.ClientOpt{
		sr.URLs(strings.TrimSuffix(c.URL, "/")), sr.UserAgent("microbatch"),
		sr.HTTPClient(&http.Client{
			Timeout: requestTimeout, Transport: bounded{transport},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the login is for this address alone
		}),
	}
	if c.User != "" {
		options = append(options, sr.BasicAuth(c.User, c.Password.Expose()))
	}
	api, err := sr.NewClient(options...)
	if err != nil {
		return nil, errcode.RegistryAnswer.Wrap(err, "", "schema registry")
	}
	return &Client{config: c, api: api}, nil
}

// What one request may take, and its answer hold.
const (
	requestTimeout = 5 * time.Second
	maxAnswer      = 16 << 20
)

// bounded cuts answers that nobody can have meant.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	}
	return answer, err
}

// String is the registry's address.
func (c *Client) String() string { return c.config.URL }

// ByID is the text of the schema of an id, and the texts of the schemas that it names, each behind those that it names itself.
func (c *Client) ByID(ctx context.Context, id int) (text string, references []string, err error) {
	var s sr.Schema
	err = c.ask(ctx, fmt.Sprintf("schema %d", id), func(ctx context.Context) (err error) {
		s, err = c.api.SchemaByID(ctx, id)
		if missing(err) {
			return errcode.RegistryUnknownID.New(c.String(), "there is no schema %d", id)
		}
		return err
	})
	if err != nil {
		return "", nil, err
	}
	if s.Type != sr.TypeAvro {
		return "", nil, errcode.AvroSchema.New(c.String(), "schema %d is not of Avro but of %s", id, s.Type)
	}
	f := &following{client: c, have: map[string]bool{}}
	if err := f.follow(ctx, s.References); err != nil {
		return "", nil, err
	}
	return s.Schema, f.texts, nil
}

// following collects the schemas that a schema names.
type following struct {
	client *Client
	have   map[string]bool
	texts  []string
}

func (f *following) follow(ctx context.Context, references []sr.SchemaReference) error {
	for _, r := range references {
		at := fmt.Sprintf("version %d of %s", r.Version, r.Subject)
		if f.have[at] {
			continue
		}
		f.have[at] = true
		var s sr.SubjectSchema
		err := f.client.ask(ctx, at, func(ctx context.Context) (err error) {
			s, err = f.client.api.SchemaByVersion(ctx, r.Subject, r.Version)
			return err
		})
		if err != nil {
			return err
		}
		if err := f.follow(ctx, s.References); err != nil {
			return err
		}
		f.texts = append(f.texts, s.Schema.Schema)
	}
	return nil
}

// Lookup is the id of a schema that is registered under a subject; found is false if it is not, or if there is no such subject.
func (c *Client) Lookup(ctx context.Context, subject, text string) (id int, found bool, err error) {
	err = c.ask(ctx, "look up the schema under "+subject, func(ctx context.Context) error {
		s, err := c.api.LookupSchema(ctx, subject, sr.Schema{Schema: text})
		id, found = s.ID, err == nil
		if missing(err) {
			return nil
		}
		return err
	})
	return id, found, err
}

// Compatible is nil if the subject would take the schema as its next version, RegistryIncompatible if not. Nothing is registered.
func (c *Client) Compatible(ctx context.Context, subject, text string) error {
	return c.ask(ctx, "check the schema against "+subject, func(ctx context.Context) error {
		result, err := c.api.CheckCompatibility(ctx, subject, latest, sr.Schema{Schema: text})
		if missing(err) { // the subject has no version yet
			return nil
		}
		if err == nil && !result.Is {
			return c.incompatible(subject, excerpt(strings.Join(result.Messages, "; ")))
		}
		return err
	})
}

const latest = -1

// Register makes sure that a schema is registered under a subject, and gives its id. One that is there already is not registered again.
func (c *Client) Register(ctx context.Context, subject, text string) (id int, err error) {
	err = c.ask(ctx, "register the schema under "+subject, func(ctx context.Context) (err error) {
		id, err = c.api.RegisterSchema(ctx, subject, sr.Schema{Schema: text}, -1, latest)
		if e, ok := errors.AsType[*sr.ResponseError](err); ok && e.StatusCode == http.StatusConflict {
			return c.incompatible(subject, excerpt(e.Error()))
		}
		return err
	})
	return id, err
}

func (c *Client) incompatible(subject, reason string) error {
	if reason == "" {
		reason = "it does not say why"
	}
	return errcode.RegistryIncompatible.New(subject, "the registry at %s refuses the schema: %s", c, reason)
}

// missing reports an answer that something is not there, in the words of the API: any other 404 is the answer of something else.
func missing(err error) bool {
	e, ok := errors.AsType[*sr.ResponseError](err)
	return ok && e.StatusCode == http.StatusNotFound && e.ErrorCode/100 == http.StatusNotFound
}

// ask repeats a request until it is answered, within the budget of time, and gives the error a code.
func (c *Client) ask(ctx context.Context, doing string, op func(ctx context.Context) error) error {
	policy := retry.Policy{First: 100 * time.Millisecond, Max: 2 * time.Second, Budget: c.config.RetryFor}
	err := retry.Do(ctx, policy, func(err error) bool { return errcode.ClassOf(c.explain(err, doing)) == errcode.Retry }, op)
	return c.explain(err, doing)
}

// explain gives an error its code; one that has a code keeps it, and the end of the caller's context is none of the registry's.
func (c *Client) explain(err error, doing string) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if _, ok := errors.AsType[*errcode.Error](err); ok {
		return err
	}
	e, ok := errors.AsType[*sr.ResponseError](err)
	if ok {
		err = errors.New(excerpt(e.Error()))
	}
	switch {
	case !ok && !isTransport(err):
		return errcode.RegistryAnswer.Wrap(err, c.String(), "%s", doing)
	case !ok, e.StatusCode >= 500, e.StatusCode == http.StatusTooManyRequests, e.StatusCode == http.StatusRequestTimeout:
		return errcode.RegistryUnreachable.Wrap(err, c.String(), "%s", doing)
	case e.StatusCode == http.StatusUnauthorized, e.StatusCode == http.StatusForbidden:
		return errcode.RegistryLogin.Wrap(err, c.String(), "%s: status %d", doing, e.StatusCode)
	}
	return errcode.RegistryAnswer.Wrap(err, c.String(), "%s: status %d", doing, e.StatusCode)
}

// excerpt is the beginning of what the registry says: it may be a page of HTML.
func excerpt(text string) string {
	const most = 300
	if text = strings.Join(strings.Fields(text), " "); len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

// isTransport reports an error of the connection, rather than of what came over it.
func isTransport(err error) bool {
	_, request := errors.AsType[*url.Error](err)
	_, network := errors.AsType[net.Error](err)
	return request || network || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.ErrUnexpectedEOF)
}
