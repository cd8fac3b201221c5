package pgmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/figures"
	"microbatch/internal/sim/gate"
	"microbatch/sinks"
	"microbatch/sinks/postgres"
	"microbatch/sinks/sinktest"
)

// modes of the sink. Each of the rows has a key of its own.
var modes = []postgres.Config{{Mode: postgres.Append}, {Mode: postgres.Upsert, Keys: []string{"id"}}, {Mode: postgres.Ledger, Keys: []string{"id"}}}

// lost is what a judge answers when an answer does not arrive.
var lost = errcode.PostgresUnreachable.New("model", "cut")

// ids are the rows of a target, in order.
func ids(t *testing.T, target *Target) (out []int64) {
	t.Helper()
	texts, err := target.Rows(t.Context())
	for _, text := range texts {
		id, parseErr := strconv.ParseInt(text, 10, 64)
		err = errors.Join(err, parseErr)
		out = append(out, id)
	}
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

func TestTheModelConforms(t *testing.T) {
	for _, c := range modes {
		t.Run(c.Mode, func(t *testing.T) {
			sinktest.Run(t, func(t *testing.T) sinktest.Harness {
				target := NewTarget(c)
				target.idle = time.Second // the clock is the real one here
				fate := gate.Pass
				judge := gate.JudgeFunc(func(op gate.Op) gate.Verdict {
					if op.Kind != "commit" {
						return gate.Verdict{}
					}
					defer func() { fate = gate.Pass }()
					return gate.Verdict{Fate: fate, Err: lost}
				})
				return sinktest.Harness{
					Open: func(*testing.T) sinks.Sink { return target.Sink(gate.NewProcess("p", judge)) },
					Rows: func(t *testing.T) []int64 { return ids(t, target) },
					State: func(*testing.T) string {
						return fmt.Sprint(target.made, len(target.rows), target.positions, len(target.applied))
					},
					LoseAnswer: func(_ *testing.T, landed bool) {
						if fate = gate.Fail; landed {
							fate = gate.Lose
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
	target *Target
	epoch  ident.Epoch
}

// drive is one driver: it starts as the engine does, and goes on from what the sink says until it has died or all batches are there. After an error whose outcome is
// open, or that may go away, it recovers in process, with a new epoch.
func (s *story) drive(j gate.Judge) (done bool) {
	s.t.Helper()
	process := gate.NewProcess("p", j)
	sink := s.target.Sink(process)
	defer sink.Close()
	for range 20 {
		s.epoch++
		switch err := s.life(sink); {
		case err == nil:
			return true
		case errors.Is(err, gate.ErrGone):
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

// judge gives the n-th operation a fate. What is late lands so many operations later, of whatever process.
type judge struct {
	n      int
	fate   gate.Fate
	after  int
	landed *func() error
	passed bool
}

func (j *judge) Judge(_ context.Context, c gate.Call) (gate.Verdict, error) {
	if j.landed != nil && *j.landed != nil {
		if j.after--; j.after < 0 {
			_ = (*j.landed)() // nobody hears how it went
			*j.landed = nil
		}
	}
	j.n--
	if j.n != -1 {
		return gate.Verdict{}, nil
	}
	j.passed = true
	if j.fate == gate.Late {
		*j.landed = c.Apply
	}
	return gate.Verdict{Fate: j.fate, Err: lost}, nil
}

// TestEachOperationDiesOrLosesItsAnswer lets each operation of a driver fail, be lost, land late or kill it, before and after its effect, then each operation of the
// driver after it; the one after that finds every row there once.
func TestEachOperationDiesOrLosesItsAnswer(t *testing.T) {
	runs := 0
	for _, c := range modes {
		for _, first := range []gate.Fate{gate.Fail, gate.Lose, gate.Late, gate.Die, gate.DieDone} {
			for n, more := 0, true; more && !t.Failed(); n++ {
				for m, again := 0, true; again && !t.Failed(); m++ {
					second := []gate.Fate{gate.Lose, gate.Die, gate.DieDone}[(n+m)%3]
					synctest.Test(t, func(t *testing.T) {
						var landed func() error
						a := &judge{n: n, fate: first, after: (n + m) % 17, landed: &landed}
						b := &judge{n: m, fate: second, after: a.after, landed: &landed}
						s := &story{t: t, target: NewTarget(c)}
						if s.drive(a) || s.drive(b) || s.drive(gate.JudgeFunc(func(gate.Op) gate.Verdict { return gate.Verdict{} })) {
							runs++
						}
						if landed != nil {
							_ = landed()
						}
						more, again = a.passed, b.passed
						if got := ids(t, s.target); !slices.Equal(got, []int64{0, 1, 2, 3}) {
							t.Errorf("%s, operation %d: %s, then operation %d: %s: the table holds %d", c.Mode, n, first, m, second, got)
						}
					})
				}
			}
		}
	}
	t.Logf("%d stories", runs)
	figures.Add(t, "stories of a PostgreSQL sink", runs)
}

// A driver sleeps between its lock and its COMMIT. Who comes after it waits until the server ends the sleeper's transaction, and what the sleeper sends then is refused.
func TestASleeperHoldsTheLockUntilTheServerEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := NewTarget(modes[0])
		floor := &gate.Floor{}
		asleep := make(chan bool, 1)
		s := &story{t: t, target: target}
		go func() { asleep <- (&story{t: t, target: target}).drive(floor) }()
		letAllBut(floor, "commit") // of the claim
		began := time.Now()
		if s.epoch = 5; !s.drive(gate.JudgeFunc(func(gate.Op) gate.Verdict { return gate.Verdict{} })) {
			t.Fatal("the second driver died")
		}
		if waited := time.Since(began); waited < idleTimeout || waited > 2*idleTimeout {
			t.Errorf("the second driver waited for %s", waited)
		}
		synctest.Wait()
		w := floor.Waiting()[0]
		if err := w.Apply(); !errcode.Has(err, errcode.PostgresUnreachable) {
			t.Errorf("the sleeper's COMMIT: %v", err)
		}
		w.Let(gate.Verdict{Fate: gate.Die})
		if <-asleep {
			t.Error("the sleeper has written all batches")
		}
		if got := ids(t, target); !slices.Equal(got, []int64{0, 1, 2, 3}) {
			t.Errorf("the table holds %d", got)
		}
	})
}

// letAllBut lets operations go until one of a kind comes.
func letAllBut(floor *gate.Floor, kind string) {
	for {
		synctest.Wait()
		w := floor.Waiting()[0]
		if w.Kind == kind {
			return
		}
		w.Let(gate.Verdict{})
	}
}

// Rows of one key: in an upsert the highest in the order counts, a deletion too; in a ledger the lowest, for ever. Rows that differ and that nothing orders are refused.
func TestRowsOfOneKey(t *testing.T) {
	fields := []postgres.Field{{Name: "k", Target: "k", Key: true}, {Name: "n", Target: "n"}, {Name: "op", Operation: true}}
	types := []uint32{oidText, oidBigint, oidText}
	row := func(k, n, op string) []value { return []value{{text: k}, {text: n}, {text: op, null: op == ""}} }
	s := New()
	up := &postgres.Work{Mode: postgres.Upsert, Fields: fields, Order: []int{1}, Deletes: []string{"delete"}}
	s.apply(&stage{up, types, [][]value{row("a", "10", ""), row("a", "9", ""), row("b", "1", ""), row("c", "1", "")}})
	s.apply(&stage{up, types, [][]value{row("a", "3", "x"), row("b", "2", "DELETE"), row("c", "2", "delete"), row("c", "11", "")}})
	if got, want := fmt.Sprint(s.Rows()), "[map[k:a n:3] map[k:c n:11]]"; got != want {
		t.Errorf("upsert: %s, want %s", got, want)
	}
	s = New()
	once := &postgres.Work{Mode: postgres.Ledger, Fields: fields, Order: []int{1}}
	s.apply(&stage{once, types, [][]value{row("a", "10", ""), row("a", "9", "")}})
	s.apply(&stage{once, types, [][]value{row("a", "1", ""), row("b", "1", "")}})
	if got, want := fmt.Sprint(s.Rows()), "[map[k:a n:9] map[k:b n:1]]"; got != want {
		t.Errorf("ledger: %s, want %s", got, want)
	}
	for order, want := range map[int]bool{0: true, 1: false} {
		st := &stage{&postgres.Work{Mode: postgres.Upsert, Fields: fields, Order: []int{order}}, types, [][]value{row("a", "1", ""), row("a", "2", "")}}
		if st.tied() != want {
			t.Errorf("ordered by column %d: tied is %v", order, !want)
		}
	}
}
