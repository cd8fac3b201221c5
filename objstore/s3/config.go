package s3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	"golang.org/x/sync/semaphore"

	"microbatch/internal/errcode"
	"microbatch/internal/secret"
)

// Config names a bucket and how to reach it.
type Config struct {
	Bucket    string
	Prefix    string // all keys are below it; "" is the whole bucket
	Endpoint  string // "" is Amazon's; otherwise http:// or https://
	Region    string // "" is what the SDK finds in environment and profile, else us-east-1
	PathStyle bool   // endpoint/bucket/key instead of bucket.endpoint/key: most servers that are not Amazon's want it

	AccessKey    secret.Secret // with SecretKey; none of them: the SDK's chain (environment, profile, web identity, instance role)
	SecretKey    secret.Secret
	SessionToken secret.Secret // of temporary credentials

	RetryFor  time.Duration     // no new try of a request after this long; 0 is 30 s
	Transport http.RoundTripper // nil is a transport with a time limit on each phase
}

// Validate returns everything that is wrong.
func (c Config) Validate() error {
	var errs []error
	if c.Bucket == "" || strings.ContainsAny(c.Bucket, "/ ") {
		errs = append(errs, fmt.Errorf("s3: bucket %q is not the name of a bucket", c.Bucket))
	}
	if u, err := url.Parse(c.Endpoint); c.Endpoint != "" && (err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "") {
		errs = append(errs, fmt.Errorf("s3: endpoint %q must be http://host[:port] or https://host[:port]", c.Endpoint))
	}
	if c.AccessKey.IsZero() != c.SecretKey.IsZero() {
		errs = append(errs, errors.New("s3: access key and secret key go together"))
	}
	return errors.Join(errs...)
}

const (
	defaultRetry  = 30 * time.Second
	defaultRegion = "us-east-1"
	partsInFlight = 4 // for a whole store: with one part filling per writer this bounds memory
)

// Store keeps objects in a bucket.
type Store struct {
	client   *sdk.Client
	bucket   string
	prefix   string // "" or ends in a slash
	retryFor time.Duration
	answered *answers
	parts    *semaphore.Weighted
	buffers  chan []byte // of parts that have been sent
}

// New is the store of a bucket. It reads the SDK's configuration files but sends nothing: an unreachable or missing bucket shows at the first call.
func New(ctx context.Context, c Config) (*Store, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	cfg, err := load(ctx, c)
	if err != nil {
		return nil, errcode.StoreCredentials.Wrap(err, "s3://"+c.Bucket, "load the SDK's configuration")
	}
	answered := &answers{RoundTripper: transportOf(cfg, c)}
	client := sdk.NewFromConfig(cfg, func(o *sdk.Options) {
		if c.Endpoint != "" {
			o.BaseEndpoint = aws.String(c.Endpoint)
		}
		o.HTTPClient = &http.Client{Transport: answered, CheckRedirect: neverFollow}
		o.UsePathStyle = c.PathStyle
		o.Retryer = aws.NopRetryer{}
		o.ContinueHeaderThresholdBytes = -1 // a round trip more for each part
		// Other servers do not all know the trailing checksums that Amazon's SDK sends by default.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		o.DisableLogOutputChecksumValidationSkipped = true
		o.Logger = logging.Nop{} // what matters comes back as an error
	})
	s := &Store{client: client, bucket: c.Bucket, retryFor: c.RetryFor, answered: answered, parts: semaphore.NewWeighted(partsInFlight), buffers: make(chan []byte, partsInFlight+2)}
	if p := strings.Trim(c.Prefix, "/"); p != "" {
		s.prefix = p + "/"
	}
	if s.retryFor == 0 {
		s.retryFor = defaultRetry
	}
	return s, nil
}

func load(ctx context.Context, c Config) (aws.Config, error) {
	// The SDK adds AWS_CA_BUNDLE to a client of its own kind, and to no other.
	options := []func(*config.LoadOptions) error{
		config.WithHTTPClient(awshttp.NewBuildableClient().WithDialerOptions(setDialer).WithTransportOptions(setTransport)),
	}
	if c.Region != "" {
		options = append(options, config.WithRegion(c.Region))
	}
	if !c.AccessKey.IsZero() {
		options = append(options, config.WithCredentialsProvider(
			credentials.NewStaticCredentialsProvider(c.AccessKey.Expose(), c.SecretKey.Expose(), exposeOrEmpty(c.SessionToken))))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err == nil && cfg.Region == "" {
		cfg.Region = defaultRegion
	}
	return cfg, err
}

func transportOf(cfg aws.Config, c Config) http.RoundTripper {
	if built, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok && c.Transport == nil {
		return built.GetTransport()
	}
	return c.Transport
}

// neverFollow makes a redirect an answer like any other: it is refused. The SDK would follow 307 and 308 to any host, with the object's content in the request.
func neverFollow(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func exposeOrEmpty(s secret.Secret) string {
	if s.IsZero() {
		return ""
	}
	return s.Expose()
}

func setDialer(d *net.Dialer) {
	d.Timeout = 5 * time.Second
	d.KeepAlive = 15 * time.Second
}

// setTransport keeps connections alive and puts a limit on each phase of a request; the whole of it is limited by attemptTime.
func setTransport(t *http.Transport) {
	t.TLSHandshakeTimeout = 5 * time.Second
	t.ResponseHeaderTimeout = 60 * time.Second
	t.IdleConnTimeout = 60 * time.Second
	t.MaxIdleConns = 256
	t.MaxIdleConnsPerHost = 64
	t.ReadBufferSize = 64 << 10
	t.WriteBufferSize = 64 << 10
}

// attemptTime limits one try of a request that moves n bytes: a connection that hangs half-open is given up.
func attemptTime(n int64) time.Duration {
	const slowest = 256 << 10 // bytes a second
	return 10*time.Second + time.Duration(n)*time.Second/slowest
}

// URL is s3://bucket/prefix.
func (s *Store) URL() string { return strings.TrimSuffix("s3://"+s.bucket+"/"+s.prefix, "/") }
