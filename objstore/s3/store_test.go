package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"microbatch/internal/errcode"
	"microbatch/internal/secret"
	"microbatch/internal/services"
	"microbatch/objstore"
	"microbatch/objstore/probe"
	"microbatch/objstore/s3"
)

// uploads counts unfinished multipart uploads, by ending them.
func uploads(t *testing.T, s *s3.Store) int {
	t.Helper()
	n, err := s.Tidy(t.Context(), "", time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestReadsRideOutStormsAndCutOffBodies(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(*http.Request) (*http.Response, error){
		"reset": reset, "500": says(500, "InternalError"), "503": says(503, "SlowDown"), "429": says(429, ""), "cut off": cutOff,
	} {
		n, s, other := behind(t, patient)
		if err := other.Put(t.Context(), "key", []byte("content")); err != nil {
			t.Fatal(err)
		}
		n.add(2, any_, f)
		wantGet(t, s, "key", "content")
		n.add(2, gets, f)
		var keys []string
		for info, err := range s.List(t.Context(), "", "") {
			if err != nil {
				t.Errorf("%s: List: %v", name, err)
			}
			keys = append(keys, info.Key)
		}
		if diff := cmp.Diff([]string{"key"}, keys); diff != "" {
			t.Errorf("%s: List (-want +got):\n%s", name, diff)
		}
		n.add(2, gets, f)
		o, err := s.Open(t.Context(), "key")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size())); err != nil || string(got) != "content" {
			t.Errorf("%s: read %q, %v", name, got, err)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A refusal is known by its body. Cut off in it, a missing key is not yet missing, and a put is not yet refused: the request is sent again.
func TestRefusalsThatAreCutOffAreAskedForAgain(t *testing.T) {
	t.Parallel()
	n, s, other := behind(t, patient)
	n.add(3, any_, cutOff)
	if _, err := s.Get(t.Context(), "missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Get of a missing key: %v", err)
	}
	n.add(2, puts, func(req *http.Request) (*http.Response, error) {
		resp, err := says(403, "RequestTimeTooSkewed")(req)
		resp.Body = io.NopCloser(failing{})
		return resp, err
	})
	if err := s.PutIfAbsent(t.Context(), "key", []byte("content")); err != nil {
		t.Errorf("PutIfAbsent: %v", err)
	}
	wantGet(t, other, "key", "content")
	n, s, _ = behind(t, hasty)
	n.add(always, any_, func(req *http.Request) (*http.Response, error) {
		resp, err := says(404, "NoSuchKey")(req)
		resp.Body = io.NopCloser(failing{})
		return resp, err
	})
	if _, err := s.Get(t.Context(), "missing"); !errcode.Has(err, errcode.StoreUnreachable) {
		t.Errorf("Get that never hears why: %v, want code %s", err, errcode.StoreUnreachable.ID)
	}
}

func TestStormWithoutEndHasACode(t *testing.T) {
	t.Parallel()
	n, s, _ := behind(t, hasty)
	n.add(always, any_, says(503, "SlowDown"))
	_, get := s.Get(t.Context(), "key")
	_, stat := s.Stat(t.Context(), "key")
	for op, err := range map[string]error{"Get": get, "Stat": stat, "Delete": s.Delete(t.Context(), "key")} {
		if !errcode.Has(err, errcode.StoreBusy) || errcode.ClassOf(err) != errcode.Retry {
			t.Errorf("%s: %v, want code %s", op, err, errcode.StoreBusy.ID)
		}
	}
}

func TestRefusalsHaveCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		name   string
		code   errcode.Code
	}{
		{403, "AccessDenied", errcode.StoreForbidden},
		{403, "InvalidAccessKeyId", errcode.StoreCredentials},
		{403, "SignatureDoesNotMatch", errcode.StoreCredentials},
		{400, "ExpiredToken", errcode.StoreCredentials},
		{403, "RequestTimeTooSkewed", errcode.StoreClock},
		{404, "NoSuchBucket", errcode.StoreNoBucket},
		{301, "PermanentRedirect", errcode.StoreEndpoint},
		{400, "AuthorizationHeaderMalformed", errcode.StoreEndpoint},
		{501, "NotImplemented", errcode.StoreNotAtomic},
		{507, "XMinioStorageFull", errcode.StoreFull},
	} {
		n, s, _ := behind(t, patient)
		n.add(always, any_, says(c.status, c.name))
		err := s.PutIfAbsent(t.Context(), "key", nil)
		if !errcode.Has(err, c.code) || errors.Is(err, objstore.ErrUncertain) || errors.Is(err, fs.ErrExist) {
			t.Errorf("%d %s: %v, want code %s", c.status, c.name, err, c.code.ID)
		}
		if n.count("PUT") != 1 && c.name != "AccessDenied" {
			t.Errorf("%d %s was tried %d times", c.status, c.name, n.count("PUT"))
		}
	}
}

// Bad input on a real server: missing bucket, wrong credentials, unreachable endpoint, untrusted certificate.
func TestWrongSurroundingsHaveCodes(t *testing.T) {
	t.Parallel()
	for _, server := range []services.S3Server{services.MinIO(t), services.VersityGW(t)} {
		good := s3.Config{
			Bucket: server.NewBucket(t), Endpoint: server.Endpoint, Region: server.Region, PathStyle: true, RetryFor: 300 * time.Millisecond,
			AccessKey: secret.Of(server.AccessKey), SecretKey: secret.Of(server.SecretKey),
		}
		for name, c := range map[string]struct {
			change func(*s3.Config)
			code   errcode.Code
		}{
			"no such bucket":   {func(c *s3.Config) { c.Bucket = "no-such-bucket" }, errcode.StoreNoBucket},
			"wrong access key": {func(c *s3.Config) { c.AccessKey = secret.Of("nobody") }, errcode.StoreCredentials},
			"wrong secret key": {func(c *s3.Config) { c.SecretKey = secret.Of("hunter2-hunter2") }, errcode.StoreCredentials},
			"nobody listens":   {func(c *s3.Config) { c.Endpoint = "http://127.0.0.1:1" }, errcode.StoreUnreachable},
			"no such host":     {func(c *s3.Config) { c.Endpoint = "http://no-such-host.invalid" }, errcode.StoreUnreachable},
		} {
			config := good
			c.change(&config)
			s := open(t, config)
			errs := map[string]error{"Put": s.Put(t.Context(), "key", nil)}
			if c.code.ID != errcode.StoreUnreachable.ID { // which takes its time
				errs["probe"], errs["List"] = probe.Check(t.Context(), s), listError(t, s)
			}
			for op, err := range errs {
				if !errcode.Has(err, c.code) {
					t.Errorf("%s: %s: %s: %v, want code %s", server.Name, name, op, err, c.code.ID)
				}
				if text := fmt.Sprintf("%v %+v %s", err, config, errcode.Detail(err)); strings.Contains(text, "hunter2") || strings.Contains(text, server.SecretKey) {
					t.Errorf("%s: %s: a secret is printed: %s", server.Name, name, text)
				}
			}
		}
	}
}

func listError(t *testing.T, s objstore.Store) (last error) {
	for _, err := range s.List(t.Context(), "", "") {
		last = err
	}
	return last
}

func TestUntrustedCertificateHasACode(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	s := open(t, s3.Config{Bucket: "bucket", Endpoint: server.URL, PathStyle: true, AccessKey: secret.Of("a"), SecretKey: secret.Of("b"), RetryFor: time.Second})
	if err := s.PutIfAbsent(t.Context(), "key", nil); !errcode.Has(err, errcode.StoreCertificate) {
		t.Errorf("%v, want code %s", err, errcode.StoreCertificate.ID)
	}
}

func TestConfigNamesAllFaults(t *testing.T) {
	t.Parallel()
	_, err := s3.New(t.Context(), s3.Config{Bucket: "a/b", Endpoint: "localhost:9000", AccessKey: secret.Of("alone")})
	for _, want := range []string{"bucket", "endpoint", "secret key"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name the %s", err, want)
		}
	}
}

func TestRealServersPassTheProbe(t *testing.T) {
	t.Parallel()
	for _, server := range []services.S3Server{services.MinIO(t), services.VersityGW(t)} {
		s := open(t, s3.Config{
			Bucket: server.NewBucket(t), Endpoint: server.Endpoint, PathStyle: true, AccessKey: secret.Of(server.AccessKey), SecretKey: secret.Of(server.SecretKey),
		})
		if err := probe.Check(t.Context(), s); err != nil {
			t.Errorf("%s: %v", server.Name, err)
		}
		for info := range s.List(t.Context(), "", "") {
			t.Errorf("%s: the probe left %s", server.Name, info.Key)
		}
	}
}

// A server that drops the condition is refused: every one of the probe's creates is granted.
func TestServerThatIgnoresTheConditionFailsTheProbe(t *testing.T) {
	t.Parallel()
	n, s, _ := behind(t, patient)
	n.add(always, puts, func(req *http.Request) (*http.Response, error) {
		req.Header.Del("If-None-Match")
		return forward(req)
	})
	if err := probe.Check(t.Context(), s); err == nil || !errcode.Has(err, errcode.StoreNotAtomic) && !errcode.Has(err, errcode.StoreCredentials) {
		t.Errorf("%v, want code %s", err, errcode.StoreNotAtomic.ID)
	}
}

func TestFolderMarkersAreNotListed(t *testing.T) {
	t.Parallel()
	n, s, other := behind(t, patient)
	if err := other.Put(t.Context(), "dir/key", nil); err != nil {
		t.Fatal(err)
	}
	n.add(1, gets, says(200, ""))
	n.faults[0].do = func(req *http.Request) (*http.Response, error) {
		resp, err := says(200, "")(req)
		resp.Body = io.NopCloser(strings.NewReader(listing("dir/", "dir/key", "other/")))
		return resp, err
	}
	var keys []string
	for info, err := range s.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	if diff := cmp.Diff([]string{"dir/key"}, keys); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}
}

func TestListOutOfOrderIsRefused(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{{"b", "a"}, {"a", "b", "b"}, {"c", "d", "b"}} {
		n, s, _ := behind(t, patient)
		n.add(1, gets, func(req *http.Request) (*http.Response, error) {
			resp, err := says(200, "")(req)
			resp.Body = io.NopCloser(strings.NewReader(listing(keys...)))
			return resp, err
		})
		if err := listError(t, s); err == nil || !strings.Contains(err.Error(), "not in order") {
			t.Errorf("%q: %v, want a refusal", keys, err)
		}
	}
}

func TestServerThatStartsTooEarlyIsPutRight(t *testing.T) {
	t.Parallel()
	n, s, _ := behind(t, patient)
	n.add(1, gets, func(req *http.Request) (*http.Response, error) {
		resp, err := says(200, "")(req)
		resp.Body = io.NopCloser(strings.NewReader(listing("a", "b", "c")))
		return resp, err
	})
	var keys []string
	for info, err := range s.List(t.Context(), "", "b") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	if diff := cmp.Diff([]string{"c"}, keys); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}
}

func listing(keys ...string) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated>`)
	for _, key := range keys {
		fmt.Fprintf(&b, "<Contents><Key>%s</Key><Size>0</Size><LastModified>2024-01-01T00:00:00.000Z</LastModified></Contents>", key)
	}
	b.WriteString("</ListBucketResult>")
	return b.String()
}

// Reading through costs few requests, and parallel readers at random places get the right bytes.
func TestReadsThroughWindows(t *testing.T) {
	t.Parallel()
	n, s, other := behind(t, patient)
	data := make([]byte, 20<<20)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	if err := write(t.Context(), other, "big", data); err != nil {
		t.Fatal(err)
	}
	o, err := s.Open(t.Context(), "big")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	got, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
	if err != nil || !bytes.Equal(got, data) {
		t.Fatalf("read through: %d bytes, %v", len(got), err)
	}
	if requests := n.count("GET"); requests > 12 {
		t.Errorf("%d requests to read 20 MiB in small pieces", requests)
	}
	var group sync.WaitGroup
	for reader := range 8 {
		random := rand.New(rand.NewPCG(3, uint64(reader)))
		group.Go(func() {
			at := random.Int64N(int64(len(data)))
			for range 30 {
				buf := make([]byte, 1+random.IntN(1<<(4+random.IntN(18))))
				m, err := o.ReadAt(buf, at)
				if want := min(len(buf), len(data)-int(at)); m != want || (err != nil && !errors.Is(err, io.EOF)) || !bytes.Equal(buf[:m], data[at:int(at)+m]) {
					t.Errorf("ReadAt(%d bytes, %d) = %d, %v", len(buf), at, m, err)
					return
				}
				if at += int64(m); random.IntN(3) == 0 || at >= int64(len(data)) {
					at = random.Int64N(int64(len(data)))
				}
			}
		})
	}
	group.Wait()
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	if _, err := o.ReadAt(make([]byte, 1), 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("read after Close: %v", err)
	}
}

func TestObjectReplacedWhileItIsReadIsAnError(t *testing.T) {
	t.Parallel()
	for _, server := range []services.S3Server{services.MinIO(t), services.VersityGW(t)} {
		s := open(t, s3.Config{
			Bucket: server.NewBucket(t), Endpoint: server.Endpoint, PathStyle: true, AccessKey: secret.Of(server.AccessKey), SecretKey: secret.Of(server.SecretKey),
		})
		if err := s.Put(t.Context(), "key", []byte("old")); err != nil {
			t.Fatal(err)
		}
		o, err := s.Open(t.Context(), "key")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), "key", []byte("new")); err != nil {
			t.Fatal(err)
		}
		if _, err := o.ReadAt(make([]byte, 3), 0); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: read of a replaced object: %v, want an error", server.Name, err)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTidyEndsUploadsOfKilledWriters(t *testing.T) {
	t.Parallel()
	for _, c := range []s3.Config{fake(t)} {
		s := open(t, c)
		w, err := s.Create(t.Context(), "table/part-1.parquet")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, 9<<20)); err != nil { // and never ended
			t.Fatal(err)
		}
		table := objstore.Prefix(s, "table")
		if n, err := objstore.Tidy(t.Context(), table, "", time.Now().Add(-time.Hour)); n != 0 || err != nil {
			t.Errorf("Tidy of old ones ended %d, %v", n, err)
		}
		if n, err := objstore.Tidy(t.Context(), table, "", time.Now().Add(time.Hour)); n != 1 || err != nil {
			t.Errorf("Tidy ended %d, %v, want 1", n, err)
		}
		if err := w.Abort(t.Context()); err != nil {
			t.Errorf("Abort of an upload that is gone: %v", err)
		}
	}
}

func TestReadsEndWithTheContextOfOpen(t *testing.T) {
	t.Parallel()
	n, s, other := behind(t, patient)
	if err := other.Put(t.Context(), "key", []byte("content")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o, err := s.Open(ctx, "key")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	n.add(always, gets, func(req *http.Request) (*http.Response, error) {
		cancel()
		return reset(req)
	})
	if _, err := o.ReadAt(make([]byte, 7), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}

func TestKeyThatIsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	n, s, _ := behind(t, patient)
	if err := s.PutIfAbsent(t.Context(), strings.Repeat("k", 1025), nil); err == nil || !strings.Contains(err.Error(), "1024") {
		t.Errorf("%v, want a refusal that names the limit", err)
	}
	if len(n.log) > 0 {
		t.Errorf("sent %q", n.log)
	}
}

func TestURLHasNoSecrets(t *testing.T) {
	t.Parallel()
	c := fake(t)
	c.Prefix = "/lake/orders/"
	if got := open(t, c).URL(); got != "s3://bucket/lake/orders" {
		t.Errorf("URL = %s", got)
	}
}
