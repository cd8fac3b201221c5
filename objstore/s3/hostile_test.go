package s3_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"microbatch/internal/errcode"
	"microbatch/internal/heap"
	"microbatch/internal/secret"
	"microbatch/objstore"
	"microbatch/objstore/s3"
)

// A redirect is an answer and never followed: neither data nor signatures go to a host that the configuration does not name.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var strangers atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		strangers.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, status)
		}))
		c := s3.Config{Bucket: "bucket", Endpoint: server.URL, PathStyle: true, AccessKey: secret.Of("a"), SecretKey: secret.Of("canary"), RetryFor: hasty}
		for name, transport := range map[string]http.RoundTripper{"the store's own transport": nil, "another": &network{}} {
			c.Transport = transport
			s := open(t, c)
			_, get := s.Get(t.Context(), "key")
			for op, err := range map[string]error{
				"PutIfAbsent": s.PutIfAbsent(t.Context(), "key", []byte("data")), "Put": s.Put(t.Context(), "key", []byte("data")), "Get": get, "List": listError(t, s),
				"Delete": s.Delete(t.Context(), "key"), "writer": write(t.Context(), s, "key", make([]byte, 9<<20)),
			} {
				if !errcode.Has(err, errcode.StoreEndpoint) || errors.Is(err, objstore.ErrUncertain) {
					t.Errorf("%d, %s, %s: %v, want code %s", status, name, op, err, errcode.StoreEndpoint.ID)
				}
			}
		}
		server.Close()
	}
	if n := strangers.Load(); n > 0 {
		t.Errorf("%d requests went to another host", n)
	}
}

// announces is a body of another length than the header says.
func announces(length string, body string) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		resp, err := says(200, "")(req)
		if err != nil {
			return nil, err
		}
		resp.Header.Set("Content-Length", length)
		resp.Body = io.NopCloser(strings.NewReader(body))
		return resp, nil
	}
}

// What a server announces is no reason to take memory: a body that is not what the header says is read again, and then an error.
func TestLengthsThatAreLies(t *testing.T) {
	for _, length := range []string{"9223372036854775807", "1099511627776", "5", "-1"} {
		n, s, other := behind(t, hasty)
		if err := other.Put(t.Context(), "key", []byte("content")); err != nil {
			t.Fatal(err)
		}
		n.add(1, gets, announces(length, "con"))
		wantGet(t, s, "key", "content")
		n.add(always, gets, announces(length, "con"))
		heap.AtMost(t, 512<<20, "a length of "+length, func() {
			if data, err := s.Get(t.Context(), "key"); err == nil || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("length %s: %q, %v", length, data, err)
			}
		})
	}
}

// A storm, with every status that means "later", is ridden out; and who says how long it lasts is left alone for that long.
func TestStormsWithRetryAfterAreRiddenOut(t *testing.T) {
	t.Parallel()
	for status, wait := range map[int]string{429: "", 500: "0", 502: "-1", 504: "Wed, 21 Oct 2015 07:28:00 GMT", 503: "1"} {
		n, s, _ := behind(t, patient)
		n.add(2, any_, func(req *http.Request) (*http.Response, error) {
			resp, err := says(status, "SlowDown")(req)
			resp.Header.Set("Retry-After", wait)
			return resp, err
		})
		began := time.Now()
		if err := s.PutIfAbsent(t.Context(), "key", []byte("x")); err != nil {
			t.Errorf("%d: %v", status, err)
		}
		if took := time.Since(began); wait == "1" && took < 2*time.Second {
			t.Errorf("%d: asked to wait for a second twice, it came again after %s", status, took)
		}
		wantGet(t, s, "key", "x")
	}
}

// A listing whose continuation token has expired goes on behind the last key, without a hole and without a key twice.
func TestListGoesOnWhenItsTokenHasExpired(t *testing.T) {
	t.Parallel()
	n, s, _ := behind(t, patient)
	page := func(more bool, keys ...string) func(*http.Request) (*http.Response, error) {
		return func(req *http.Request) (*http.Response, error) {
			text := listing(keys...)
			if more {
				text = strings.Replace(text, "<IsTruncated>false</IsTruncated>", "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>", 1)
			}
			resp, err := says(200, "")(req)
			resp.Body = io.NopCloser(strings.NewReader(text))
			return resp, err
		}
	}
	after := ""
	n.add(1, gets, page(true, "a", "b"))
	n.add(1, gets, says(400, "InvalidArgument"))
	n.add(1, gets, func(req *http.Request) (*http.Response, error) {
		after = req.URL.Query().Get("start-after")
		return page(false, "b", "c")(req) // inclusive, as some servers are
	})
	var keys []string
	for info, err := range s.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, keys); diff != "" || after != "b" {
		t.Errorf("after %q (-want +got):\n%s", after, diff)
	}
}

// Listings that cannot be: of another prefix, with keys that are none, with pages that never end.
func TestListingsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"a page without a token":      {strings.Replace(listing("k/a"), "false", "true", 1), "how to go on"},
		"the same page for ever":      {strings.Replace(listing("k/a", "k/b"), "<IsTruncated>false</IsTruncated>", "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>", 1), "not in order"},
		"a key that does not decode":  {strings.Replace(listing("k/%zz"), "<IsTruncated>", "<EncodingType>url</EncodingType><IsTruncated>", 1), "does not decode"},
		"a key outside of the prefix": {listing("other/a"), "does not belong"},
		"no XML":                      {"{}", ""},
	} {
		n, s, _ := behind(t, hasty)
		n.add(always, gets, func(req *http.Request) (*http.Response, error) {
			resp, err := says(200, "")(req)
			resp.Body = io.NopCloser(strings.NewReader(c.body))
			return resp, err
		})
		var err error
		seen := 0
		for _, e := range s.List(t.Context(), "k/", "") {
			if err = e; err != nil || seen > 100 {
				break
			}
			seen++
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v after %d keys, want %q", name, err, seen, c.want)
		}
	}
}

// Credentials that end in the middle of an upload, or are good for one prefix only: an error with its code, no object, no parts.
func TestCredentialsThatEndInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		name   string
		code   errcode.Code
	}{{400, "ExpiredToken", errcode.StoreCredentials}, {403, "AccessDenied", errcode.StoreForbidden}, {403, "RequestTimeTooSkewed", errcode.StoreClock}} {
		n, s, other := behind(t, hasty)
		sent := 0
		n.add(always, func(req *http.Request) bool {
			if puts(req) {
				sent++
			}
			return puts(req) && sent > 2
		}, says(c.status, c.name))
		if err := write(t.Context(), s, "big", make([]byte, 40<<20)); !errcode.Has(err, c.code) {
			t.Errorf("%s: %v, want code %s", c.name, err, c.code.ID)
		}
		if _, err := other.Stat(t.Context(), "big"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the object is there: %v", c.name, err)
		}
		if left := uploads(t, other); left != 0 {
			t.Errorf("%s: %d uploads left", c.name, left)
		}
	}
}

// FuzzAnswers: no answer of a server, whatever it is, makes the store panic or take what it has not sent; an answer that makes no sense is an error or "uncertain", never
// "somebody else was first".
func FuzzAnswers(f *testing.F) {
	f.Add(200, "Content-Length", "7", "content")
	f.Add(412, "ETag", "\"x\"", "<Error><Code>PreconditionFailed</Code></Error>")
	f.Add(409, "Retry-After", "1e9", "<Error><Code>ConditionalRequestConflict</Code></Error>")
	f.Add(307, "Location", "http://169.254.169.254/latest/meta-data", "")
	f.Add(200, "Content-Length", "9223372036854775807", strings.Repeat("<a>", 3000))
	f.Add(200, "Last-Modified", "never", `<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><ListBucketResult><Contents><Key>&b;</Key></Contents></ListBucketResult>`)
	f.Add(404, "x-amz-meta-microbatch-put", "x", "<Error><Code>NoSuchKey</Code></Error>")
	var answer roundTripper
	s, err := s3.New(f.Context(), s3.Config{
		Bucket: "bucket", Endpoint: "http://server", Region: "r", PathStyle: true, AccessKey: secret.Of("a"), SecretKey: secret.Of("b"), RetryFor: 1,
		Transport: roundTripper(func(req *http.Request) (*http.Response, error) { return answer(req) }),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, status int, header, value, body string) {
		if status < 200 || status > 599 || strings.ContainsAny(header+value, "\r\n\x00") || header == "" {
			return
		}
		answer = func(req *http.Request) (*http.Response, error) {
			resp, err := says(status, "")(req)
			resp.Header.Set(header, value)
			resp.Body = io.NopCloser(strings.NewReader(body))
			resp.ContentLength = -1
			return resp, err
		}
		heap.AtMost(t, 256<<20+1000*int64(len(body)), "an answer", func() {
			err := s.PutIfAbsent(t.Context(), "key", []byte("x"))
			if errors.Is(err, fs.ErrExist) && status != 412 && status != 304 && status < 400 {
				t.Fatalf("%d: %v", status, err)
			}
			_, _ = s.Get(t.Context(), "key")
			_, _ = s.Stat(t.Context(), "key")
			_ = s.Delete(t.Context(), "key")
			last := ""
			for info, err := range s.List(t.Context(), "k/", "") {
				if err != nil {
					break
				}
				if info.Key <= last || !strings.HasPrefix(info.Key, "k/") {
					t.Fatalf("the listing has %q after %q", info.Key, last)
				}
				last = info.Key
			}
			_ = fmt.Sprint(listError(t, s))
		})
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }
