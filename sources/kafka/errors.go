package kafka

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"microbatch/internal/errcode"
	"microbatch/internal/retry"
)

// ask repeats a request until it is answered, within the budget of time, and gives the last error a code.
func (s *Source) ask(ctx context.Context, doing string, op func(ctx context.Context) error) error {
	policy := retry.Policy{First: 50 * time.Millisecond, Max: 2 * time.Second, Budget: s.config.RetryFor, Steady: true} // the client's own retries are varied
	err := retry.Do(ctx, policy, func(err error) bool { return retryable(s.explain(err, doing)) }, op)
	return s.explain(err, doing)
}

func retryable(err error) bool { return errcode.ClassOf(err) == errcode.Retry }

// explain gives an error of the client library or the broker its code; one that has a code keeps it.
func (s *Source) explain(err error, doing string) error {
	var answer *kerr.Error
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case hasCode(err):
		return err
	case isRefusal(err):
		return errcode.KafkaAuthFailed.Wrap(err, s.brokers(), "%s", doing)
	case slices.ContainsFunc(notAuthorized, func(e *kerr.Error) bool { return errors.Is(err, e) }):
		return errcode.KafkaNotAuthorized.Wrap(err, s.brokers(), "%s", doing)
	case errors.As(err, &answer):
		return errcode.KafkaBrokerError.Wrap(err, s.brokers(), "%s", doing)
	}
	return errcode.KafkaUnreachable.Wrap(err, s.brokers(), "%s", doing)
}

// brokers names the cluster in errors.
func (s *Source) brokers() string { return cmp.Or(strings.Join(s.config.Brokers, ","), "the brokers") }

func hasCode(err error) bool {
	_, ok := errors.AsType[*errcode.Error](err)
	return ok
}

var notAuthorized = []*kerr.Error{kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.GroupAuthorizationFailed}

// isRefusal reports whether login or certificate were refused, by either side: waiting does not help.
func isRefusal(err error) bool {
	for _, e := range []*kerr.Error{kerr.SaslAuthenticationFailed, kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState} {
		if errors.Is(err, e) {
			return true
		}
	}
	var verification *tls.CertificateVerificationError
	var alert tls.AlertError
	var header tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	return errors.As(err, &verification) || errors.As(err, &alert) || errors.As(err, &header) || errors.As(err, &authority) || errors.As(err, &host)
}
