package s3_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/objstore/s3"
	"microbatch/objstore/storetest"
)

var lostAnswers = map[string]func(*http.Request) (*http.Response, error){
	"connection reset": doneThenReset,
	"500":              doneThenSays(500, "InternalError"),
	"502":              doneThenSays(502, ""),
	"503":              doneThenSays(503, "ServiceUnavailable"),
	"504":              doneThenSays(504, ""),
	"request timeout":  doneThenSays(400, "RequestTimeout"),
}

var notDone = map[string]func(*http.Request) (*http.Response, error){
	"connection refused": notSent,
	"connection reset":   reset,
	"500":                says(500, "InternalError"),
	"503 SlowDown":       says(503, "SlowDown"),
	"429":                says(429, "TooManyRequests"),
	"409":                says(409, "ConditionalRequestConflict"),
	"409 without a code": says(409, ""),
}

func wantGet(t *testing.T, s objstore.Store, key, want string) {
	t.Helper()
	if got, err := s.Get(t.Context(), key); err != nil || string(got) != want {
		t.Errorf("Get(%q) = %q, %v; want %q", key, got, err, want)
	}
}

// The put was granted and its answer lost, once and twice: it is ours (S4), not somebody else's.
func TestLostAnswerOfOurOwnPutIsSuccess(t *testing.T) {
	t.Parallel()
	for name, f := range lostAnswers {
		for times := 1; times <= 2; times++ {
			n, s, _ := behind(t, patient)
			n.add(times, puts, f)
			if err := s.PutIfAbsent(t.Context(), "offsets/1", []byte("ours")); err != nil {
				t.Errorf("%s, %d times: %v", name, times, err)
			}
			wantGet(t, s, "offsets/1", "ours")
		}
	}
}

func TestPutThatWasNotDoneIsRepeated(t *testing.T) {
	t.Parallel()
	for name, f := range notDone {
		n, s, _ := behind(t, patient)
		n.add(2, puts, f)
		if err := s.PutIfAbsent(t.Context(), "offsets/1", []byte("ours")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n.count("PUT") != 3 {
			t.Errorf("%s: %d puts, want 3", name, n.count("PUT"))
		}
		wantGet(t, s, "offsets/1", "ours")
	}
}

// Our put did not arrive, another writer took the key, even with the same bytes: the repeated put meets the other's.
func TestAnotherWritersObjectIsNeverTakenForOurs(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(*http.Request) (*http.Response, error){"connection reset": reset, "500": says(500, "InternalError")} {
		n, s, other := behind(t, patient)
		n.add(1, puts, func(req *http.Request) (*http.Response, error) {
			if err := other.PutIfAbsent(t.Context(), "offsets/1", []byte("same bytes")); err != nil {
				t.Error(err)
			}
			return f(req)
		})
		if err := s.PutIfAbsent(t.Context(), "offsets/1", []byte("same bytes")); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v, want fs.ErrExist", name, err)
		}
		if n.count("HEAD") != 1 {
			t.Errorf("%s: %d HEADs, want 1: a 412 after a lost answer is settled by identity", name, n.count("HEAD"))
		}
	}
}

func TestTakenKeyIsKnownFromTheFirstAnswer(t *testing.T) {
	t.Parallel()
	n, s, other := behind(t, patient)
	if err := other.PutIfAbsent(t.Context(), "key", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.PutIfAbsent(t.Context(), "key", nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v, want fs.ErrExist", err)
	}
	if n.count("PUT") != 1 || n.count("HEAD") != 0 {
		t.Errorf("requests %q, want one PUT", n.log)
	}
}

// A put that was thought lost arrives after its repetition, and after another writer's turn (S03).
func TestDelayedPutLandsOnWhatIsThere(t *testing.T) {
	t.Parallel()
	n, s, _ := behind(t, patient)
	held := &heldBack{}
	n.add(1, puts, held.do)
	if err := s.PutIfAbsent(t.Context(), "key", []byte("ours")); err != nil {
		t.Fatal(err)
	}
	if status := held.release(t); status != http.StatusPreconditionFailed {
		t.Errorf("the late put is answered %d, want 412", status)
	}
	wantGet(t, s, "key", "ours")

	n, s, other := behind(t, patient)
	n.add(1, puts, func(req *http.Request) (*http.Response, error) {
		resp, err := held.do(req)
		if err := other.PutIfAbsent(t.Context(), "key", []byte("theirs")); err != nil {
			t.Error(err)
		}
		return resp, err
	})
	if err := s.PutIfAbsent(t.Context(), "key", []byte("ours")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v, want fs.ErrExist", err)
	}
	held.release(t)
	wantGet(t, s, "key", "theirs")
}

func TestNotModifiedIsSettledByIdentity(t *testing.T) {
	t.Parallel()
	n, s, other := behind(t, patient)
	if err := other.PutIfAbsent(t.Context(), "theirs", nil); err != nil {
		t.Fatal(err)
	}
	n.add(1, puts, says(304, ""))
	if err := s.PutIfAbsent(t.Context(), "theirs", nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v, want fs.ErrExist", err)
	}
	n.add(1, puts, doneThenSays(304, ""))
	if err := s.PutIfAbsent(t.Context(), "ours", nil); err != nil {
		t.Errorf("our own: %v", err)
	}
}

func TestConflictNeverMeansExists(t *testing.T) {
	t.Parallel()
	n, s, _ := behind(t, hasty)
	n.add(always, puts, says(409, "ConditionalRequestConflict"))
	err := s.PutIfAbsent(t.Context(), "key", nil)
	if errors.Is(err, fs.ErrExist) || !errcode.Has(err, errcode.StoreBusy) || errors.Is(err, objstore.ErrUncertain) {
		t.Errorf("%v, want code %s", err, errcode.StoreBusy.ID)
	}
}

func TestWhatCannotBeSettledIsUncertain(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]func(n *network){
		"lost for ever":        func(n *network) { n.add(always, puts, reset) },
		"500 for ever":         func(n *network) { n.add(always, puts, says(500, "InternalError")) },
		"lost, then forbidden": func(n *network) { n.add(1, puts, doneThenReset); n.add(always, puts, says(403, "AccessDenied")) },
		"lost, then no look":   func(n *network) { n.add(1, puts, doneThenReset); n.add(always, heads, says(403, "")) },
		"lost, then refused":   func(n *network) { n.add(1, puts, reset); n.add(always, puts, notSent) },
	} {
		n, s, _ := behind(t, hasty)
		faults(n)
		err := s.PutIfAbsent(t.Context(), "key", []byte("x"))
		if !errors.Is(err, objstore.ErrUncertain) || !errcode.Has(err, errcode.StoreUncertain) || errcode.ClassOf(err) != errcode.Uncertain {
			t.Errorf("%s: %v, want ErrUncertain", name, err)
		}
	}
}

// The object of a lost put is gone when we look: it may have been ours, and somebody deleted it.
func TestLostPutWhoseObjectIsGoneIsUncertain(t *testing.T) {
	t.Parallel()
	n, s, other := behind(t, patient)
	n.add(1, puts, doneThenReset)
	n.add(1, heads, func(req *http.Request) (*http.Response, error) {
		if err := other.Delete(t.Context(), "key"); err != nil {
			t.Error(err)
		}
		return forward(req)
	})
	if err := s.PutIfAbsent(t.Context(), "key", []byte("x")); !errors.Is(err, objstore.ErrUncertain) {
		t.Errorf("%v, want ErrUncertain", err)
	}
}

func TestPutThatWasNeverSentIsNotUncertain(t *testing.T) {
	t.Parallel()
	n, s, _ := behind(t, hasty)
	n.add(always, puts, notSent)
	for name, err := range map[string]error{"PutIfAbsent": s.PutIfAbsent(t.Context(), "key", nil), "Put": s.Put(t.Context(), "key", nil)} {
		if errors.Is(err, objstore.ErrUncertain) || !errcode.Has(err, errcode.StoreUnreachable) || errcode.ClassOf(err) != errcode.Retry {
			t.Errorf("%s: %v, want code %s", name, err, errcode.StoreUnreachable.ID)
		}
	}
}

func TestCancelWhileAPutIsUnderWayIsUncertain(t *testing.T) {
	t.Parallel()
	n, s, _ := behind(t, patient)
	ctx, cancel := context.WithCancel(t.Context())
	n.add(1, puts, func(req *http.Request) (*http.Response, error) {
		cancel()
		return nil, req.Context().Err()
	})
	err := s.PutIfAbsent(ctx, "key", nil)
	if !errors.Is(err, objstore.ErrUncertain) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want ErrUncertain and context.Canceled", err)
	}
}

func TestPutRepeatsUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	n, s, _ := behind(t, patient)
	n.add(1, puts, doneThenReset)
	n.add(1, puts, says(503, "SlowDown"))
	if err := s.Put(t.Context(), "hint", []byte("x")); err != nil {
		t.Error(err)
	}
	wantGet(t, s, "hint", "x")
	n, s, _ = behind(t, hasty)
	n.add(always, puts, doneThenReset)
	if err := s.Put(t.Context(), "hint", []byte("y")); !errors.Is(err, objstore.ErrUncertain) {
		t.Errorf("%v, want ErrUncertain", err)
	}
}

// Histories stay linearizable while answers are lost, delayed and refused at random; what is reported uncertain may have happened or not, at any later time.
func TestHistoriesUnderFaultsAreLinearizable(t *testing.T) {
	t.Parallel()
	for retryFor, seeds := range map[time.Duration]uint64{0: 1, 60 * time.Millisecond: 6} { // patient, and so hasty that some stay uncertain
		for seed := range seeds {
			c := fake(t)
			sky := &weather{random: rand.New(rand.NewPCG(seed, 7))}
			c.Transport, c.RetryFor = sky, retryFor
			h := storetest.NewHistory(t)
			h.Failing = retryFor > 0
			h.Race([]objstore.Store{open(t, c), open(t, c), open(t, c)}, 40, "put", "put", "put", "get", "stat", "list")
			sky.late.Wait()
			h.Check()
		}
	}
}

// weather loses, repeats, delays and refuses a third of all requests.
type weather struct {
	mu     sync.Mutex
	random *rand.Rand
	late   sync.WaitGroup
}

func (w *weather) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	dice := w.random.IntN(21)
	w.mu.Unlock()
	faults := []func(*http.Request) (*http.Response, error){
		doneThenReset, reset, doneThenSays(500, "InternalError"), says(503, "SlowDown"), says(409, "ConditionalRequestConflict"), notSent, w.delayed,
	}
	if dice < len(faults) {
		return faults[dice](req)
	}
	return forward(req)
}

// delayed tells the caller that the connection broke; a put lands later, when the caller has tried again or given up.
func (w *weather) delayed(req *http.Request) (*http.Response, error) {
	if !puts(req) {
		return nil, errReset
	}
	held := &heldBack{}
	resp, err := held.do(req)
	w.late.Go(func() {
		late := held.request.Clone(context.Background())
		late.Body = io.NopCloser(bytes.NewReader(held.body))
		if resp, err := forward(late); err == nil {
			resp.Body.Close()
		}
	})
	return resp, err
}

func TestWriterSurvivesLostAnswers(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]func(n *network){
		"a part":                    func(n *network) { n.add(3, puts, doneThenReset) },
		"complete":                  func(n *network) { n.add(1, completes, doneThenReset) },
		"complete, not done":        func(n *network) { n.add(2, completes, says(503, "SlowDown")) },
		"complete, 200 with error":  func(n *network) { n.add(1, completes, says(200, "InternalError")) },
		"complete, done, 500":       func(n *network) { n.add(1, completes, doneThenSays(500, "InternalError")) },
		"complete, then who is it?": func(n *network) { n.add(1, completes, doneThenReset); n.add(1, heads, says(503, "")) },
	} {
		n, s, _ := behind(t, patient)
		faults(n)
		data := bytes.Repeat([]byte("0123456789abcdef"), 1<<20) // 16 MiB
		if err := write(t.Context(), s, "big", data); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := s.Get(t.Context(), "big"); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

func write(ctx context.Context, s objstore.Store, key string, data []byte) error {
	w, err := s.Create(ctx, key)
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return errors.Join(err, w.Abort(ctx))
	}
	return w.Commit(ctx)
}

func TestWriterThatCannotSendLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault func(*http.Request) (*http.Response, error)
		match func(*http.Request) bool
		code  errcode.Code
	}{
		"part refused":     {says(403, "AccessDenied"), puts, errcode.StoreForbidden},
		"part unreachable": {notSent, puts, errcode.StoreUnreachable},
		"upload dropped":   {says(404, "NoSuchUpload"), puts, errcode.StoreUploadGone},
		"complete refused": {says(403, "AccessDenied"), completes, errcode.StoreForbidden},
	} {
		n, s, other := behind(t, hasty)
		n.add(always, c.match, c.fault)
		err := write(t.Context(), s, "big", make([]byte, 40<<20))
		if !errcode.Has(err, c.code) || errors.Is(err, objstore.ErrUncertain) {
			t.Errorf("%s: %v, want code %s", name, err, c.code.ID)
		}
		if _, err := other.Stat(t.Context(), "big"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the object is there: %v", name, err)
		}
		if left := uploads(t, other); left != 0 {
			t.Errorf("%s: %d uploads left", name, left)
		}
	}
}

func TestWriterWhoseCommitIsNeverAnsweredIsUncertain(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small": 10, "large": 9 << 20} {
		n, s, _ := behind(t, hasty)
		n.add(always, completes, doneThenReset)
		n.add(always, heads, reset)
		if size < 8<<20 {
			n.add(always, puts, doneThenReset)
		}
		if err := write(t.Context(), s, "object", make([]byte, size)); !errors.Is(err, objstore.ErrUncertain) {
			t.Errorf("%s: %v, want ErrUncertain", name, err)
		}
	}
}

var _ objstore.Tidier = (*s3.Store)(nil)
