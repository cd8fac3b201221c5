package world

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"microbatch/checker"
	jsoncodec "microbatch/codec/json"
	"microbatch/internal/sim/gate"
	"microbatch/sinks"
	"microbatch/sinks/foreachbatch"
)

// Service is a service behind HTTP that does an operation once: of an Idempotency-Key that it knows it says again that it is done, and does nothing. It knows no batches.
type Service struct {
	mu   sync.Mutex
	rows []string // ids, in the order in which they came
	done map[string]bool
}

// NewService is a service that has done nothing.
func NewService() *Service { return &Service{done: map[string]bool{}} }

// Clone is a second service that has done the same.
func (s *Service) Clone() Target {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Service{rows: slices.Clone(s.rows), done: maps.Clone(s.done)}
}

// Gone changes nothing: each request is done at once.
func (*Service) Gone(string) {}

// Position: it knows of no batches.
func (*Service) Position(context.Context, string) (checker.Position, error) {
	return checker.Position{}, nil
}

// Rows are the ids of the rows that it has taken.
func (s *Service) Rows(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rows), nil
}

// Sink sends each row as a request, one after another.
func (s *Service) Sink(p *gate.Process) sinks.Sink {
	send, err := foreachbatch.HTTP(foreachbatch.HTTPConfig{
		URL: "http://service/rows", OperationID: []string{"id"}, Encoder: jsoncodec.NewEncoder, ContentType: "application/json", Parallel: 1, RetryFor: 10 * time.Second,
		Client: &http.Client{Transport: wire{s, p}},
	})
	var sink sinks.Sink
	if err == nil {
		sink, err = foreachbatch.New(foreachbatch.Config{Func: send, Resends: true, What: map[string]any{"url": "http://service/rows"}})
	}
	if err != nil {
		panic(fmt.Sprintf("world: %v", err)) // a mistake of the test
	}
	return sink
}

// wire carries the requests of a process.
type wire struct {
	service *Service
	p       *gate.Process
}

// RoundTrip is one operation: the request arrives whole, or not.
func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	key := r.Header.Get(foreachbatch.IdempotencyKey)
	status := http.StatusCreated
	err = w.p.Do(r.Context(), Output, "put", key, func() error {
		status = w.service.take(key, body)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}

// take does the operation, unless it was done.
func (s *Service) take(key string, body []byte) (status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var row struct{ ID string }
	switch err := json.Unmarshal(body, &row); {
	case err != nil || key == "" || row.ID == "":
		return http.StatusBadRequest
	case s.done[key]:
		return http.StatusOK
	}
	s.done[key] = true
	s.rows = append(s.rows, row.ID)
	return http.StatusCreated
}
