package s3_test

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"microbatch/internal/errcode"
	"microbatch/internal/secret"
	"microbatch/objstore"
	"microbatch/objstore/s3"
)

// silence never answers.
type silence struct{}

func (silence) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// A server that takes a request and never answers (half-open TCP) is given up in time, each phase of it.
func TestServerThatNeverAnswersIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, s3.Config{
			Bucket: "bucket", Endpoint: "http://silent", Region: "us-east-1", PathStyle: true, AccessKey: secret.Of("a"), SecretKey: secret.Of("b"),
			Transport: silence{},
		})
		for name, call := range map[string]func() error{
			"PutIfAbsent": func() error { return s.PutIfAbsent(t.Context(), "key", nil) },
			"Put":         func() error { return s.Put(t.Context(), "key", nil) },
			"Stat":        func() error { _, err := s.Stat(t.Context(), "key"); return err },
			"Delete":      func() error { return s.Delete(t.Context(), "key") },
			"List":        func() error { return listError(t, s) },
			"writer":      func() error { return write(t.Context(), s, "key", make([]byte, 9<<20)) },
		} {
			began := time.Now()
			err := call()
			if took := time.Since(began); took > 2*time.Minute {
				t.Errorf("%s took %s", name, took)
			}
			if want := name == "Put" || name == "PutIfAbsent"; errors.Is(err, objstore.ErrUncertain) != want {
				t.Errorf("%s: %v, want ErrUncertain: %v", name, err, want)
			} else if !want && !errcode.Has(err, errcode.StoreUnreachable) {
				t.Errorf("%s: %v, want code %s", name, err, errcode.StoreUnreachable.ID)
			}
		}
	})
}
