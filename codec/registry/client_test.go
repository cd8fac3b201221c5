package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"microbatch/internal/errcode"
	"microbatch/internal/secret"
)

// answers is a registry that gives prepared answers, by method and path; 404 with a code of the API for others.
type answers map[string]string // "GET /schemas/ids/7": "200 {...}"

func (a answers) client(t *testing.T, c Config) (*Client, *httptest.Server) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, body, ok := strings.Cut(a[r.Method+" "+r.URL.Path], " ")
		if !ok {
			status, body = "404", `{"error_code":40403,"message":"Schema not found"}`
		}
		var code int
		fmt.Sscan(status, &code)
		w.Header().Set("Location", "/schemas/ids/1") // followed by nobody
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	c.URL = s.URL
	if c.RetryFor == 0 {
		c.RetryFor = 50 * time.Millisecond
	}
	client, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return client, s
}

func text(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func TestAnswersAndTheirCodes(t *testing.T) {
	a := answers{
		"GET /schemas/ids/1": `200 {"schema":"\"long\""}`,
		"GET /schemas/ids/2": `200 {"schema":"{}","schemaType":"JSON"}`,
		"GET /schemas/ids/4": "503 busy",
		"GET /schemas/ids/5": "401 {}",
		"GET /schemas/ids/6": "404 <html>" + strings.Repeat("no such page ", 100),
		"GET /schemas/ids/7": "200 <html>",
		"GET /schemas/ids/9": "307 elsewhere",
		"GET /schemas/ids/8": `200 {"schema":"main","references":[{"name":"b","subject":"b","version":2},{"name":"a","subject":"a","version":1}]}`,

		"GET /subjects/b/versions/2": `200 {"schema":"b","references":[{"name":"a","subject":"a","version":1}]}`,
		"GET /subjects/a/versions/1": `200 {"schema":"a"}`,

		"POST /subjects/s":          `200 {"id":9,"schema":"x"}`,
		"POST /subjects/t/versions": `409 {"error_code":409,"message":"Schema being registered is incompatible"}`,
		"POST /subjects/u/versions": `200 {"id":10}`,
		"POST /subjects/v/versions": `422 {"error_code":42201,"message":"Invalid schema"}`,

		"POST /compatibility/subjects/t/versions/latest": `200 {"is_compatible":false,"messages":["READER_FIELD_MISSING_DEFAULT_VALUE"]}`,
		"POST /compatibility/subjects/u/versions/latest": `200 {"is_compatible":true}`,
	}
	c, s := a.client(t, Config{})
	ctx := t.Context()
	byID := func(id int) func() error { return func() error { _, _, err := c.ByID(ctx, id); return err } }
	for _, test := range []struct {
		name string
		do   func() error
		want errcode.Code // none: no error
	}{
		{"a schema", byID(1), errcode.Code{}},
		{"a schema of another language", byID(2), errcode.AvroSchema},
		{"an id that is not known", byID(3), errcode.RegistryUnknownID},
		{"a registry in trouble", byID(4), errcode.RegistryUnreachable},
		{"a login that is refused", byID(5), errcode.RegistryLogin},
		{"another server", byID(6), errcode.RegistryAnswer},
		{"an answer that is none", byID(7), errcode.RegistryAnswer},
		{"a redirection", byID(9), errcode.RegistryAnswer},
		{"incompatible, asked", func() error { return c.Compatible(ctx, "t", "x") }, errcode.RegistryIncompatible},
		{"compatible, asked", func() error { return c.Compatible(ctx, "u", "x") }, errcode.Code{}},
		{"a new subject", func() error { return c.Compatible(ctx, "new", "x") }, errcode.Code{}},
		{"incompatible, registered", func() error { _, err := c.Register(ctx, "t", "x"); return err }, errcode.RegistryIncompatible},
		{"no schema at all", func() error { _, err := c.Register(ctx, "v", "x"); return err }, errcode.RegistryAnswer},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.do()
			if test.want.ID == "" && err != nil || test.want.ID != "" && !errcode.Has(err, test.want) {
				t.Errorf("got %v, want %s", err, test.want.ID)
			}
			if err != nil && len(err.Error()) > 500 {
				t.Errorf("a long error: %s", err)
			}
		})
	}
	if id, err := c.Register(ctx, "u", "x"); err != nil || id != 10 {
		t.Errorf("registered as %d, %v", id, err)
	}
	if id, found, err := c.Lookup(ctx, "s", "x"); err != nil || !found || id != 9 {
		t.Errorf("looked up: %d, %v, %v", id, found, err)
	}
	if id, found, err := c.Lookup(ctx, "new", "x"); err != nil || found {
		t.Errorf("looked up: %d, %v, %v", id, found, err)
	}
	if main, references, err := c.ByID(ctx, 8); err != nil || main != "main" || fmt.Sprint(references) != "[a b]" {
		t.Errorf("with references: %s, %v, %v", main, references, err)
	}
	s.Close()
	if _, _, err := c.ByID(ctx, 1); !errcode.Has(err, errcode.RegistryUnreachable) || errcode.ClassOf(err) != errcode.Retry {
		t.Errorf("a registry that is gone: %v", err)
	}
}

// TestAnOutageIsSatOut: a registry that comes back within the budget is no error.
func TestAnOutageIsSatOut(t *testing.T) {
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, `{"schema":%s}`, text(`"long"`))
	}))
	defer s.Close()
	c, err := New(Config{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	if schema, _, err := c.ByID(t.Context(), 1); err != nil || schema != `"long"` || asked.Load() != 3 {
		t.Errorf("%s, %v, after %d requests", schema, err, asked.Load())
	}
}

// TestTheCallersEndIsNoOutage: a context that ends is told as such.
func TestTheCallersEndIsNoOutage(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer s.Close()
	c, err := New(Config{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, _, err := c.ByID(ctx, 1); !errors.Is(err, context.Canceled) || errcode.ClassOf(err) == errcode.Retry {
		t.Errorf("got %v", err)
	}
}

// TestALoginIsSentAndNeverTold: user and password go with each request, over http only if that was permitted, and stand in no error.
func TestALoginIsSentAndNeverTold(t *testing.T) {
	login := Config{User: "reader", Password: secret.Of("canary-77"), RetryFor: 20 * time.Millisecond}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "reader" || password != "canary-77" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		fmt.Fprint(w, `{"schema":"x"}`)
	}))
	defer s.Close()
	login.URL = s.URL
	if _, err := New(login); err == nil || !errcode.Has(err, errcode.RegistryAnswer) {
		t.Errorf("a password over http: %v", err)
	}
	login.Insecure = true
	c, err := New(login)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.ByID(t.Context(), 1); err != nil {
		t.Error(err)
	}
	s.Close()
	if _, _, err := c.ByID(t.Context(), 1); err == nil || strings.Contains(fmt.Sprintf("%v %+v %s", err, login, errcode.Detail(err)), "canary") {
		t.Errorf("got %v", err)
	}
	for _, bad := range []Config{{}, {URL: "r:8081"}, {URL: "https://u:canary-77@r"}, {URL: "https://r", User: "u"}} {
		if _, err := New(bad); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
