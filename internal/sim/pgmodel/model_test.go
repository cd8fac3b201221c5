package pgmodel

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/codec/json"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/figures"
	"microbatch/sinks"
	"microbatch/sinks/postgres"
	"microbatch/sinks/sinktest"
)

// modes of the sink. Each of the rows has a key of its own.
var modes = []postgres.Config{{Mode: postgres.Append}, {Mode: postgres.Upsert, Keys: []string{"id"}}, {Mode: postgres.Ledger, Keys: []string{"id"}}}

func newServer() *Server {
	return New([]postgres.Column{{Name: "id", Type: 20, TypeName: "bigint", Modifier: -1}, {Name: "name", Type: 25, TypeName: "text", Modifier: -1}}, []string{"id"})
}

func sinkOn(t *testing.T, server *Server, c postgres.Config, script Script) sinks.Sink {
	t.Helper()
	c.Table, c.JSON, c.Parallel = "orders", json.NewEncoder, 1
	s, err := postgres.On(server.Connect(script), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ids(server *Server) (out []int64) {
	for _, r := range server.Rows() {
		out = append(out, r.Int(0))
	}
	slices.Sort(out)
	return out
}

func TestTheModelConforms(t *testing.T) {
	for _, c := range modes {
		t.Run(c.Mode, func(t *testing.T) {
			sinktest.Run(t, func(t *testing.T) sinktest.Harness {
				server := newServer()
				fate := Happens
				script := func(op string) Fate {
					if op != "commit" {
						return Happens
					}
					defer func() { fate = Happens }()
					return fate
				}
				return sinktest.Harness{
					Open: func(t *testing.T) sinks.Sink { return sinkOn(t, server, c, script) },
					Rows: func(*testing.T) []int64 { return ids(server) },
					State: func(*testing.T) string {
						return fmt.Sprint(server.made, len(server.rows), server.positions, len(server.applied))
					},
					LoseAnswer: func(_ *testing.T, landed bool) {
						if fate = FailsFirst; landed {
							fate = FailsAfter
						}
					},
				}
			})
		})
	}
}

// batches is how many batches a story has, of two rows each.
const batches = 2

// story is drivers that follow each other until all batches are there.
type story struct {
	t      *testing.T
	server *Server
	config postgres.Config
	epoch  ident.Epoch
}

// drive is one driver: it starts as the engine does, and goes on from what the sink says until it has died or all batches are there. After an error whose outcome is
// open, or that may go away, it recovers in process, with a new epoch.
func (s *story) drive(script Script) (done bool) {
	s.t.Helper()
	sink := sinkOn(s.t, s.server, s.config, script)
	defer sink.Close()
	for range 20 {
		s.epoch++
		switch err := s.life(sink); {
		case err == nil:
			return true
		case errors.Is(err, ErrDied):
			return false
		case errcode.ClassOf(err) != errcode.Retry && errcode.ClassOf(err) != errcode.Uncertain:
			s.t.Fatal(err)
		}
	}
	s.t.Fatal("it recovers for ever")
	return false
}

func (s *story) life(sink sinks.Sink) error {
	ctx, q := s.t.Context(), sinktest.Query("q", s.epoch)
	if err := sink.Check(ctx, sinktest.Schema()); err != nil {
		return err
	}
	if err := sink.Recover(ctx, q, nil); err != nil {
		return err
	}
	v, err := sink.Visible(ctx, q)
	if err != nil {
		return err
	}
	first := max(0, v.Batch) // the visible one runs again, as if commits/<id> was not put
	for id := first; id < batches; id++ {
		p, err := sink.Prepare(ctx, sinktest.Batch(id, "a", memory.DefaultAllocator, []int64{int64(id) * 2}, []int64{int64(id)*2 + 1}))
		if err != nil {
			return err
		}
		r, err := sink.Commit(ctx, p)
		if err != nil {
			return err
		}
		if r.Outcome == sinks.Uncertain {
			return r.Why
		}
		if r.Outcome != sinks.Committed && (r.Outcome != sinks.AlreadyCommitted || id != v.Batch) {
			return fmt.Errorf("batch %d: %s (%w)", id, r.Outcome, r.Why)
		}
	}
	return nil
}

// at is a script in which the n-th operation has a fate; passed says whether there was one.
func at(n int, fate Fate, passed *bool) Script {
	return func(string) Fate {
		n--
		if n != -1 {
			return Happens
		}
		*passed = true
		return fate
	}
}

// TestEachOperationDiesOrLosesItsAnswer lets each operation of a driver fail or kill it, before and after its effect, then each operation of the driver after it; the one
// after that finds every row there once.
func TestEachOperationDiesOrLosesItsAnswer(t *testing.T) {
	runs := 0
	for _, c := range modes {
		for _, first := range []Fate{FailsFirst, FailsAfter, DiesFirst, DiesAfter} {
			for n, more := 0, true; more && !t.Failed(); n++ {
				for m, again := 0, true; again && !t.Failed(); m++ {
					more, again = false, false
					second := []Fate{FailsAfter, DiesFirst, DiesAfter}[(n+m)%3]
					s := &story{t: t, server: newServer(), config: c}
					if s.drive(at(n, first, &more)) || s.drive(at(m, second, &again)) || s.drive(nil) {
						runs++
					}
					if got := ids(s.server); !slices.Equal(got, []int64{0, 1, 2, 3}) {
						t.Errorf("%s, operation %d: %d, then operation %d: %d: the table holds %d", c.Mode, n, first, m, second, got)
					}
				}
			}
		}
	}
	t.Logf("%d stories", runs)
	figures.Add(t, "stories of a PostgreSQL sink", runs)
}
