package s3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/objstore"
)

// kind is what an answer, or the lack of one, says about a request.
type kind int

const (
	done     kind = iota
	missing       // the object is not there
	taken         // 412: the condition does not hold
	asksWho       // 304: some servers' way to say it
	refused       // a definite no: nothing was done
	again         // nothing was done, worth another try
	unsent        // there was no connection: nothing was done, worth another try
	lost          // may have been done, worth another try
	canceled      // the caller wants no more: may have been done
)

// judge sorts the outcome of one request. ctx is the caller's, not the one of the attempt.
func judge(ctx context.Context, err error) kind {
	if err == nil {
		return done
	}
	if ctx.Err() != nil {
		return canceled
	}
	status, code := answer(err)
	if bugs.Is(bugs.ConflictIsTaken) && status == http.StatusConflict {
		return taken
	}
	switch code {
	case "NoSuchKey", "NotFound":
		return missing
	case "SlowDown", "TooManyRequests", "RequestLimitExceeded", "Throttling", "ThrottlingException", "ConditionalRequestConflict", "OperationAborted":
		return again
	case "RequestTimeout", "InternalError": // also within a 200 of CompleteMultipartUpload
		return lost
	case "NotImplemented", "XMinioStorageFull":
		return refused
	}
	switch {
	case status == http.StatusPreconditionFailed:
		return taken
	case status == http.StatusNotModified:
		return asksWho
	case status == http.StatusTooManyRequests, status == http.StatusConflict:
		return again
	case status == http.StatusRequestTimeout, status >= 500:
		return lost
	case status >= 300 && isConnection(err): // cut off before it said why: a 404 may mean the key or the bucket, a 403 the rights or a clock
		return lost
	case status >= 300:
		return refused
	case status >= 200: // 200, then a body that is none: cut off
		return lost
	}
	return withoutAnswer(err)
}

// withoutAnswer sorts errors that came before any status.
func withoutAnswer(err error) kind {
	var dial *net.OpError
	var dns *net.DNSError
	var params smithy.InvalidParamsError
	var serialization *smithy.SerializationError
	switch {
	case isCertificate(err), isCredentials(err), errors.As(err, &params), errors.As(err, &serialization):
		return refused
	case errors.As(err, &dial) && dial.Op == "dial", errors.As(err, &dns):
		return unsent
	}
	return lost
}

func answer(err error) (status int, code string) {
	var response *awshttp.ResponseError
	if errors.As(err, &response) && response.Response != nil {
		status = response.HTTPStatusCode()
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		code = api.ErrorCode()
	}
	return status, code
}

// wanted is how long a server asks to be left alone: the header Retry-After, in seconds.
func wanted(err error) time.Duration {
	response, ok := errors.AsType[*awshttp.ResponseError](err)
	if !ok || response.Response == nil {
		return 0
	}
	seconds, err := strconv.Atoi(response.Response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 || seconds > 3600 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

func isCertificate(err error) bool {
	var verify *tls.CertificateVerificationError
	var host x509.HostnameError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &verify) || errors.As(err, &host) || errors.As(err, &authority) || errors.As(err, &invalid)
}

// isCredentials finds the errors of the SDK's credential chain, which have no type of their own.
func isCredentials(err error) bool {
	return strings.Contains(err.Error(), "get identity:") || strings.Contains(err.Error(), "retrieve credentials")
}

// retryable is for requests that may be repeated whatever has become of the first. It is made anew for each request.
func retryable(ctx context.Context) func(error) bool {
	denied := 0
	return func(err error) bool {
		if isDenied(err) && denied < deniedTries {
			denied++
			return true
		}
		return worthAnother(ctx, err)
	}
}

func worthAnother(ctx context.Context, err error) bool {
	switch judge(ctx, err) {
	case again, unsent, lost:
		return true
	}
	return false
}

// deniedTries is how often a denied request is tried again: MinIO denies a put that meets a delete of the same key, and new rights take a moment to spread.
const deniedTries = 2

func isDenied(err error) bool {
	_, code := answer(err)
	return code == "AccessDenied"
}

// explain gives an error its code and place. Its cause stays: fs.ErrExist, fs.ErrNotExist and objstore.ErrUncertain are found by errors.Is.
func (s *Store) explain(op, key string, err error) error {
	if err == nil || errcodeOf(err) {
		return err
	}
	code, ok := codeOf(err)
	if !ok {
		return fmt.Errorf("s3: %s %s: %w", op, s.place(key), err)
	}
	return code.Wrap(err, s.place(key), "%s: %s", op, code.Title)
}

func (s *Store) place(key string) string { return "s3://" + s.bucket + "/" + s.prefix + key }

func errcodeOf(err error) bool {
	_, ok := errors.AsType[*errcode.Error](err)
	return ok
}

func codeOf(err error) (errcode.Code, bool) {
	switch {
	case errors.Is(err, objstore.ErrUncertain):
		return errcode.StoreUncertain, true
	case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist), errors.Is(err, context.Canceled):
		return errcode.Code{}, false
	case isCertificate(err):
		return errcode.StoreCertificate, true
	case isCredentials(err):
		return errcode.StoreCredentials, true
	}
	status, name := answer(err)
	if code, ok := codeOfName(name); ok {
		return code, true
	}
	return codeOfStatus(status, err)
}

func codeOfName(name string) (errcode.Code, bool) {
	switch name {
	case "NoSuchBucket":
		return errcode.StoreNoBucket, true
	case "NoSuchUpload":
		return errcode.StoreUploadGone, true
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "TokenRefreshRequired", "InvalidSecurity", "XAdminUserNotFound":
		return errcode.StoreCredentials, true
	case "RequestTimeTooSkewed":
		return errcode.StoreClock, true
	case "NotImplemented": // the header If-None-Match, as some servers put it
		return errcode.StoreNotAtomic, true
	case "XMinioStorageFull", "QuotaExceeded", "XMinioAdminBucketQuotaExceeded":
		return errcode.StoreFull, true
	}
	return errcode.Code{}, false
}

func codeOfStatus(status int, err error) (errcode.Code, bool) {
	switch {
	case status >= 300 && status < 500 && isConnection(err): // cut off
		return errcode.StoreUnreachable, true
	case status == http.StatusForbidden || status == http.StatusUnauthorized:
		return errcode.StoreForbidden, true
	case status == http.StatusTooManyRequests, status == http.StatusConflict, status >= 500:
		return errcode.StoreBusy, true
	case status >= 300:
		return errcode.StoreEndpoint, true
	case status >= 200:
		return errcode.StoreUnreachable, true // cut off
	}
	if withoutAnswer(err) == lost && !isConnection(err) {
		return errcode.Code{}, false
	}
	return errcode.StoreUnreachable, true
}

// isConnection reports whether the trouble is with the network, as the SDK sees it.
func isConnection(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) || (retry.RetryableConnectionError{}).IsErrorRetryable(err) == 1 || errors.Is(err, context.DeadlineExceeded)
}
