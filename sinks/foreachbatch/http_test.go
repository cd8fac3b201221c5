package foreachbatch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/codec"
	"microbatch/internal/errcode"
	"microbatch/internal/secret"
	"microbatch/objstore"
	"microbatch/objstore/localfs"
)

// rowText encodes the first column's value as {"n":value}.
type rowText struct{}

func (rowText) AppendRow(dst []byte, r arrow.RecordBatch, row int) ([]byte, error) {
	return append(append(append(dst, `{"n":`...), r.Column(0).ValueStr(row)...), '}'), nil
}

// service is a service that counts what it was asked, by key, and answers as it is told.
type service struct {
	*httptest.Server
	mu     sync.Mutex
	bodies map[string][]string
	auth   map[string]bool
	answer func(key string, times int) (status int, header, text string)
}

func newService(t *testing.T, answer func(key string, times int) (int, string, string)) *service {
	t.Helper()
	s := &service{bodies: map[string][]string{}, auth: map[string]bool{}, answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		key := r.Header.Get(IdempotencyKey)
		s.bodies[key] = append(s.bodies[key], string(body))
		s.auth[r.Header.Get("Authorization")] = true
		status, retryAfter, text := s.answer(key, len(s.bodies[key]))
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status)
		if _, err := io.WriteString(w, text); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func always(status int, text string) func(string, int) (int, string, string) {
	return func(string, int) (int, string, string) { return status, "", text }
}

func (s *service) config() HTTPConfig {
	return HTTPConfig{
		URL: s.URL + "/orders", OperationID: []string{"s", "n"}, ContentType: "application/json", RetryFor: 100 * time.Millisecond,
		Encoder: func(*arrow.Schema) (codec.Encoder, error) { return rowText{}, nil },
		Headers: map[string]secret.Secret{"Authorization": secret.Of("Bearer s3cret")},
	}
}

// send passes a batch of the numbers [from, to) to a function made by HTTP.
func send(t *testing.T, c HTTPConfig, from, to int64) error {
	t.Helper()
	f, err := HTTP(c)
	must(t, err)
	s, alloc := fixture(t, Config{Func: f})
	return sent(t, s, alloc, from, to)
}

func sent(t *testing.T, s *Sink, alloc memory.Allocator, from, to int64) error {
	t.Helper()
	p, err := s.Prepare(t.Context(), &batch.Batch{ID: 7, Schema: schema, Parts: []batch.Part{part(alloc, from, to, nil)}})
	must(t, err)
	_, err = s.Commit(t.Context(), p)
	if err != nil {
		must(t, s.Abort(t.Context(), p))
	}
	return err
}

// TestEachRowIsARequestWithItsKey: the body is the row, the key is made of the columns, and a batch that comes again has the same keys.
func TestEachRowIsARequestWithItsKey(t *testing.T) {
	s := newService(t, always(201, "made"))
	for range 2 {
		must(t, send(t, s.config(), 0, 25))
	}
	if len(s.bodies) != 25 || !slices.Equal(s.bodies["13-13"], []string{`{"n":13}`, `{"n":13}`}) || !s.auth["Bearer s3cret"] || len(s.auth) != 1 {
		t.Error(s.bodies, s.auth)
	}
}

// TestWhatIsNotAnsweredIsSentAgain: with the same key, until it is answered.
func TestWhatIsNotAnsweredIsSentAgain(t *testing.T) {
	s := newService(t, func(key string, times int) (int, string, string) {
		if key == "3-3" && times < 3 {
			return []int{503, 429}[times-1], "0", "later"
		}
		return 200, "", ""
	})
	c := s.config()
	c.RetryFor = 10 * time.Second
	must(t, send(t, c, 0, 5))
	if len(s.bodies["3-3"]) != 3 || len(s.bodies["2-2"]) != 1 {
		t.Error(s.bodies)
	}
	s.answer = always(500, "broken")
	c.RetryFor = 50 * time.Millisecond
	err := send(t, c, 9, 10)
	if !errcode.Has(err, errcode.HTTPUnanswered) || errcode.ClassOf(err) != errcode.Retry || !strings.Contains(err.Error(), "operation 9-9") || !strings.Contains(err.Error(), "500 Internal Server Error: broken") {
		t.Error(err)
	}
	s.Close()
	if err := send(t, c, 9, 10); !errcode.Has(err, errcode.HTTPUnanswered) {
		t.Error(err)
	}
}

// TestARefusedRowStopsTheQueryOrIsPutAside: what would refuse every row always stops it. Nothing says what a secret is.
func TestARefusedRowStopsTheQueryOrIsPutAside(t *testing.T) {
	s := newService(t, func(key string, _ int) (int, string, string) {
		if key == "2-2" {
			return 422, "", "no such \x1b[31mproduct\n"
		}
		return 200, "", ""
	})
	c := s.config()
	err := send(t, c, 0, 5)
	if !errcode.Has(err, errcode.HTTPRefused) || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "\x1b") || !strings.Contains(err.Error(), "batch 7") {
		t.Error(err)
	}
	var lines []string
	c.Quarantine = func(_ context.Context, b Batch, refused objstore.Content) error {
		text, err := io.ReadAll(refused.Reader())
		must(t, err)
		if int64(len(text)) != refused.Size() {
			t.Errorf("%d bytes of %d", len(text), refused.Size())
		}
		lines = append(lines, string(text))
		if b.ID != 7 {
			return errors.New("another batch")
		}
		return nil
	}
	must(t, send(t, c, 0, 5))
	must(t, send(t, c, 3, 5))
	var row struct {
		Operation, Answer, Row string
		Status                 int
	}
	if len(lines) != 2 || lines[1] != "" || json.Unmarshal([]byte(lines[0]), &row) != nil || row.Operation != "2-2" || row.Status != 422 || row.Row != `{"n":2}` || !strings.HasPrefix(row.Answer, "no such") {
		t.Errorf("%q", lines)
	}
	for _, status := range []int{301, 401, 403, 404, 405} {
		s.answer = always(status, "")
		if err := send(t, c, 0, 1); !errcode.Has(err, errcode.HTTPRefused) {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// wide encodes a row of 16 KiB.
type wide struct{}

func (wide) AppendRow(dst []byte, r arrow.RecordBatch, row int) ([]byte, error) {
	return append(append(dst, r.Column(0).ValueStr(row)...), strings.Repeat(" wide", 3277)...), nil
}

// TestManyRefusedRows: of a batch whose rows are all refused, 64 MB of them, little is in memory at any time, and the quarantine has them all, once, in place of what an
// earlier try has put there. Nothing is left in the folder for temporary files.
func TestManyRefusedRows(t *testing.T) {
	const rows = 4000
	client := &http.Client{Transport: answers422{}}
	dir, spool := t.TempDir(), t.TempDir()
	store, err := localfs.New(dir, localfs.Options{})
	must(t, err)
	must(t, store.Put(t.Context(), "7.ndjson", []byte("of an earlier try, which refused other rows\n")))
	base, peak := heap(), uint64(0)
	c := HTTPConfig{
		URL: "http://service/x", OperationID: []string{"n"}, Client: client, SpoolDir: spool, Parallel: 4,
		Encoder: func(*arrow.Schema) (codec.Encoder, error) { return wide{}, nil },
		Quarantine: func(ctx context.Context, b Batch, lines objstore.Content) error {
			peak = heap()
			return objstore.PutContent(ctx, store, b.ID.String()+".ndjson", lines)
		},
	}
	must(t, send(t, c, 0, rows))
	if peak > base+(16<<20) {
		t.Errorf("%d MB are in memory", (peak-base)>>20)
	}
	f, err := os.Open(filepath.Join(dir, "7.ndjson"))
	must(t, err)
	defer f.Close()
	seen := map[string]bool{}
	for s := bufio.NewScanner(f); s.Scan(); {
		var line struct{ Operation string }
		must(t, json.Unmarshal(s.Bytes(), &line))
		seen[line.Operation] = true
	}
	left, err := os.ReadDir(spool)
	must(t, err)
	if len(seen) != rows || len(left) != 0 {
		t.Errorf("%d of %d rows, %d files are left", len(seen), rows, len(left))
	}
}

// answers422 refuses every row without a network.
type answers422 struct{}

func (answers422) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 422, Body: http.NoBody, Request: r}, nil
}

// heap is what is in memory and still needed, in bytes.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestRowsWithoutAnOperationID(t *testing.T) {
	s := newService(t, always(200, ""))
	c := s.config()
	c.OperationID = []string{"nowhere"}
	if err := send(t, c, 0, 1); !errcode.Has(err, errcode.HTTPColumns) || !strings.Contains(err.Error(), "nowhere") {
		t.Error(err)
	}
	if err := c.Check(record(t, `[]`).Schema()); !errcode.Has(err, errcode.HTTPColumns) || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("before the first batch: %v", err)
	}
	for _, rows := range []string{`[{"id":1}]`, `[{"id":1,"s":"a\nb"}]`} {
		r := record(t, rows)
		if _, err := operationID(r, []int{0, 1}, 0); err == nil {
			t.Errorf("%s: no error", rows)
		}
	}
	for _, bad := range []HTTPConfig{{}, {URL: "ftp://h"}, {URL: "http://u:p@h", OperationID: []string{"a"}, Encoder: c.Encoder}, {URL: "http://h", OperationID: []string{"a"}, Encoder: c.Encoder, Parallel: -1}} {
		if _, err := HTTP(bad); err == nil || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%+v: %v", bad.URL, err)
		}
	}
}

func record(t *testing.T, rows string) arrow.RecordBatch {
	t.Helper()
	s := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	r, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(rows))
	must(t, err)
	return r
}

// TestPace: requests begin as far apart as they are told, whoever sends them.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, began := &pace{every: every(10)}, time.Now()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 5 {
					must(t, p.wait(t.Context()))
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); took != 19*100*time.Millisecond {
			t.Error(took)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("enough"))
		must(t, p.wait(t.Context()))
		if err := p.wait(ctx); err == nil || err.Error() != "enough" {
			t.Error(err)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{"": 0, "3": 3 * time.Second, "0": 0, "-5": 0, "x": 0, "Sat, 31 Jan 2026 12:00:07 GMT": 7 * time.Second, "Sat, 31 Jan 2025 12:00:07 GMT": 0} {
		if have := retryAfter(value, now); have != want {
			t.Errorf("%q: %s", value, have)
		}
	}
}
