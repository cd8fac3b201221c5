package kafkaclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"microbatch/internal/errcode"
)

// Explain gives an error of the client library or the broker its code; one that has a code keeps it, and so does the end of a context. doing says what was
// tried, in the infinitive.
func (a Access) Explain(err error, doing string) error {
	var answer *kerr.Error
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case hasCode(err):
		return err
	case isRefusal(err):
		return errcode.KafkaAuthFailed.Wrap(err, a.String(), "%s", doing)
	case NotAuthorized(err):
		return errcode.KafkaNotAuthorized.Wrap(err, a.String(), "%s", doing)
	case errors.As(err, &answer):
		return errcode.KafkaBrokerError.Wrap(err, a.String(), "%s", doing)
	}
	return errcode.KafkaUnreachable.Wrap(err, a.String(), "%s", doing)
}

func hasCode(err error) bool {
	_, ok := errors.AsType[*errcode.Error](err)
	return ok
}

// NotAuthorized reports whether the broker refuses for want of a right.
func NotAuthorized(err error) bool {
	for _, e := range []*kerr.Error{kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.TransactionalIDAuthorizationFailed} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

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
