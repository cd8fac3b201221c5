package status

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"microbatch/engine"
	"microbatch/internal/errcode"
	"microbatch/sinks"
)

func serve(t *testing.T) *Server {
	t.Helper()
	s, err := Listen(t.Context(), "127.0.0.1:0", "orders", false)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve() }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

func get(t *testing.T, s *Server, method, path, host string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.Address()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		r.Host = host
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(body)
}

// TestStatusAndMetricsFollowTheQuery: /status has Spark's field names, /metrics the sums, /healthz the state.
func TestStatusAndMetricsFollowTheQuery(t *testing.T) {
	s := serve(t)
	l := s.Listener()
	if code, _ := get(t, s, "GET", "/healthz", ""); code != 200 {
		t.Errorf("healthz before the start: %d", code)
	}
	l.Started(engine.Started{ID: "q-1", Run: "r-1", Name: "orders", Epoch: 3, Guarantee: "at most once: so it is"})
	l.Working(engine.Working{Batch: 7, Phase: engine.Commit, Rows: 10, Planned: 10, Behind: 90})
	for b := range 102 {
		l.Progress(engine.Progress{Batch: 7, InputRows: 10, Decoded: 9, Rejected: 1, Behind: int64(b), Attempts: 2,
			Phases: map[string]float64{"commit": 12}, Sink: engine.SinkProgress{Rows: 9, Dropped: 2, Changes: &sinks.Changes{Inserted: 4, Updated: 3, Deleted: 2}, Files: 1, Bytes: 100, Version: 8}})
	}
	_, body := get(t, s, "GET", "/status", "localhost:1")
	var state struct {
		ID     string `json:"id"`
		RunID  string `json:"runId"`
		Status struct {
			Message         string `json:"message"`
			IsDataAvailable bool   `json:"isDataAvailable"`
		} `json:"status"`
		LastProgress   map[string]any   `json:"lastProgress"`
		RecentProgress []map[string]any `json:"recentProgress"`
	}
	if err := json.Unmarshal([]byte(body), &state); err != nil {
		t.Fatal(err)
	}
	if state.ID != "q-1" || state.RunID != "r-1" || !state.Status.IsDataAvailable || !strings.Contains(body, `"guarantee": "at most once: so it is"`) || len(state.RecentProgress) != 100 || state.LastProgress["numRowsBehind"] != 101.0 {
		t.Errorf("status: %s", body[:min(len(body), 600)])
	}
	_, body = get(t, s, "GET", "/metrics", "")
	for _, want := range []string{
		`microbatch_rows_total{kind="input",pipeline="orders"} 1020`,
		`microbatch_rows_total{kind="rejected",pipeline="orders"} 102`,
		`microbatch_rows_total{kind="dropped",pipeline="orders"} 204`,
		`microbatch_rows_total{kind="inserted",pipeline="orders"} 408`,
		`microbatch_rows_total{kind="updated",pipeline="orders"} 306`,
		`microbatch_rows_total{kind="deleted",pipeline="orders"} 204`,
		`microbatch_rows_total{kind="unchanged",pipeline="orders"} 0`,
		`microbatch_batches_total{pipeline="orders"} 102`,
		`microbatch_rows_behind{pipeline="orders"} 101`,
		`microbatch_phase_seconds_count{phase="commit",pipeline="orders"} 102`,
		`microbatch_epoch{pipeline="orders"} 3`,
		`microbatch_running{pipeline="orders"} 1`,
		`go_goroutines`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	l.Terminated(errors.New("over"))
	if code, _ := get(t, s, "GET", "/healthz", ""); code != 503 {
		t.Errorf("healthz after the end: %d", code)
	}
	if _, body := get(t, s, "GET", "/status", ""); !strings.Contains(body, `"exception": "over"`) {
		t.Errorf("status after the end: %s", body[len(body)-200:])
	}
}

// TestOnlyReadersOfThisMachineAreAnswered: another Host (DNS rebinding), other methods and other paths are refused.
func TestOnlyReadersOfThisMachineAreAnswered(t *testing.T) {
	s := serve(t)
	for _, c := range []struct {
		method, path, host string
		want               int
	}{
		{"GET", "/status", "evil.example", 421},
		{"GET", "/status", "127.0.0.1.evil.example:80", 421},
		{"GET", "/status", "169.254.169.254", 421},
		{"GET", "/status", "[::1]:9", 200},
		{"POST", "/status", "", 405},
		{"DELETE", "/metrics", "", 405},
		{"GET", "/", "", 404},
		{"GET", "/debug/pprof/", "", 404},
		{"GET", "/../../etc/passwd", "", 404},
		{"GET", "/status/%2e%2e/x", "", 404},
	} {
		if code, _ := get(t, s, c.method, c.path, c.host); code != c.want {
			t.Errorf("%s %s of %q: %d, want %d", c.method, c.path, c.host, code, c.want)
		}
	}
}

// TestListenRefusesAddressesThatOthersReach unless it is told to.
func TestListenRefusesAddressesThatOthersReach(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "10.0.0.1:0", "example.org:0", "nonsense"} {
		if s, err := Listen(t.Context(), address, "p", false); err == nil {
			s.Close()
			t.Errorf("%s is accepted", address)
		} else if !errcode.Has(err, errcode.ListenAddress) {
			t.Errorf("%s: %v", address, err)
		}
	}
	s, err := Listen(t.Context(), "0.0.0.0:0", "p", true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), s.Address(), "p", true); !errcode.Has(err, errcode.ListenAddress) {
		t.Errorf("a taken port: %v", err)
	}
	s.listener.Close()
}
