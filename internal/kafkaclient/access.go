package kafkaclient

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"microbatch/internal/errcode"
	"microbatch/internal/secret"
)

// DialTimeout is how long one connection may take to come about.
const DialTimeout = 5 * time.Second

// Access is where a cluster is and how it is entered.
type Access struct {
	Brokers  []string // host:port; any of them is enough to find the others
	TLS      *TLS     // nil: plain text
	SASL     *SASL    // nil: no login
	Insecure bool     // permits SASL PLAIN without TLS
}

// SASL is a login.
type SASL struct {
	Mechanism string // PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512
	User      string
	Password  secret.Secret
}

// Mechanisms are the SASL mechanisms.
func Mechanisms() []string { return []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} }

// Faults lists all that is wrong with TLS and login, as sentences.
func (a Access) Faults() (faults []string) {
	if a.TLS != nil && (a.TLS.Cert == "") != (a.TLS.Key == "") {
		faults = append(faults, "tls: cert and key go together")
	}
	if a.SASL == nil {
		return faults
	}
	if !slices.Contains(Mechanisms(), a.SASL.Mechanism) {
		faults = append(faults, fmt.Sprintf("sasl.mechanism: %q is none of %s", a.SASL.Mechanism, strings.Join(Mechanisms(), ", ")))
	}
	if a.SASL.User == "" || a.SASL.Password.IsZero() {
		faults = append(faults, "sasl: user and password are needed")
	}
	return faults
}

// Protected is an error if the password would be sent in clear text and nobody has permitted it.
func (a Access) Protected() error {
	if a.SASL != nil && a.SASL.Mechanism == "PLAIN" && a.TLS == nil && !a.Insecure {
		return errcode.KafkaInsecureAuth.New("", "sasl.mechanism PLAIN without tls would send the password of %s in clear text", a.SASL.User)
	}
	return nil
}

// Readable is an error if a file of TLS is missing or holds something else, which no broker would ever mend.
func (a Access) Readable() error {
	if a.TLS == nil {
		return nil
	}
	if _, err := a.TLS.config(); err != nil {
		return errcode.KafkaAuthFailed.Wrap(err, "", "a certificate file cannot be used")
	}
	return nil
}

// String names the cluster in errors.
func (a Access) String() string { return cmp.Or(strings.Join(a.Brokers, ","), "the brokers") }

// Options are what every client of ours has in common.
func (a Access) Options() []kgo.Opt {
	opts := []kgo.Opt{
		kgo.ClientID("microbatch"),
		kgo.DialTimeout(DialTimeout),
		kgo.MetadataMinAge(250 * time.Millisecond),
		kgo.DisableClientMetrics(),
	}
	if len(a.Brokers) > 0 {
		opts = append(opts, kgo.SeedBrokers(a.Brokers...))
	}
	if a.TLS != nil {
		opts = append(opts, kgo.Dialer(a.TLS.Dial))
	}
	if a.SASL != nil {
		opts = append(opts, kgo.SASL(a.SASL.mechanism()))
	}
	return opts
}

func (s *SASL) mechanism() sasl.Mechanism {
	user, password := s.User, s.Password.Expose()
	switch s.Mechanism {
	case "SCRAM-SHA-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	}
	return plain.Auth{User: user, Pass: password}.AsMechanism()
}
