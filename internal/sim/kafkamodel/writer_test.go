package kafkamodel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	jsoncodec "microbatch/codec/json"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/figures"
	"microbatch/internal/sim/kafkamodel"
	"microbatch/sinks"
	"microbatch/sinks/kafka"
	"microbatch/sinks/sinktest"
)

// newTopic is a cluster with a topic to write to and one whose positions are committed.
func newTopic() *kafkamodel.Cluster {
	c := kafkamodel.New(kafkamodel.Config{Settling: 30 * time.Millisecond})
	c.Create("out", 2)
	c.Create("in", 1)
	return c
}

func sinkOn(t *testing.T, c *kafkamodel.Cluster, w kafkamodel.WriterConfig) sinks.Sink {
	t.Helper()
	s, err := kafka.New(kafka.Config{
		Cluster: c.Writer(w), Topic: "out", Key: "id", Encoder: jsoncodec.NewEncoder, Format: "json",
		CommitGroup: "progress", Positions: func([]ident.Range) (map[string]map[int32]int64, error) {
			return map[string]map[int32]int64{"in": {0: 7}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// idsIn are the ids of the rows that a reader of committed records sees when all that was decided has ended.
func idsIn(t *testing.T, c *kafkamodel.Cluster) (ids []int64) {
	t.Helper()
	c = c.Clone()
	c.Settle()
	for p := range int32(2) {
		for _, r := range c.Records("out", p) {
			var row struct{ ID int64 }
			if err := json.Unmarshal(r.Value, &row); err != nil {
				t.Fatalf("%q: %v", r.Value, err)
			}
			ids = append(ids, row.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// markers are what the groups that a test uses have committed.
func markers(c *kafkamodel.Cluster) (out []string) {
	c = c.Clone()
	c.Settle()
	for _, group := range []string{"microbatch-q", "microbatch-q1", "microbatch-q2", "progress"} {
		offset, metadata := c.Position(group, "out", 0)
		out = append(out, fmt.Sprint(group, offset, metadata, c.Committed(group, "in", 0)))
	}
	return out
}

func TestASinkConformsOnTheModel(t *testing.T) {
	sinktest.Run(t, func(*testing.T) sinktest.Harness {
		c := newTopic()
		lose, landed := false, false
		hook := func(_ context.Context, request, _ string, serve func() error) error {
			if request != "endtxn" || !lose {
				return serve()
			}
			lose = false
			if landed {
				return errors.Join(serve(), kafkamodel.ErrCut)
			}
			return kafkamodel.ErrCut
		}
		return sinktest.Harness{
			Open:  func(t *testing.T) sinks.Sink { return sinkOn(t, c, kafkamodel.WriterConfig{Hook: hook}) },
			Rows:  func(t *testing.T) []int64 { return idsIn(t, c) },
			State: func(t *testing.T) string { return fmt.Sprint(idsIn(t, c), markers(c)) },
			LoseAnswer: func(_ *testing.T, there bool) {
				lose, landed = true, there
			},
		}
	})
}

// fate is what becomes of a request.
type fate int

const (
	happens    fate = iota
	failsFirst      // the connection breaks before it is there
	failsAfter      // it breaks after it, and the answer is lost
	failsLate       // it breaks before it, and the request arrives a while later
	diesFirst       // the process dies before it
	diesAfter       // the process dies after it
	diesLate        // the process dies before it, and the request arrives a while later
)

var errDied = errors.New("the process has died")

// story is drivers that follow each other until all batches are there.
type story struct {
	t       *testing.T
	cluster *kafkamodel.Cluster
	retries int
	epoch   ident.Epoch
	late    func() error // is on its way
	lateFor int          // so many requests
	dead    bool
	asked   []string
}

// batches is how many batches a story has, of two rows each.
const batches = 2

// driver is the hook of a process whose n-th request has a fate. passed says whether there was one.
func (s *story) driver(n int, what fate, lateFor int, passed *bool) kafkamodel.Hook {
	return func(_ context.Context, request, about string, serve func() error) error {
		if s.dead {
			return errDied
		}
		s.asked = append(s.asked, request+" "+about)
		if s.late != nil {
			if s.lateFor--; s.lateFor < 0 {
				land := s.late
				s.late = nil
				_ = land() // nobody hears how it went
			}
		}
		if n--; n != -1 || what == happens {
			return serve()
		}
		*passed = true
		switch what {
		case failsAfter, diesAfter:
			_ = serve() // the answer is lost
		case failsLate, diesLate:
			s.late, s.lateFor = serve, lateFor
		}
		if what >= diesFirst {
			s.dead = true
			return errDied
		}
		return kafkamodel.ErrCut
	}
}

// drive is one process: it starts as the engine does, and goes on from what the sink says until it has died or all batches are there. After an error whose outcome is
// open, or that may go away, it recovers in process, with a new epoch.
func (s *story) drive(hook kafkamodel.Hook) (done bool) {
	s.t.Helper()
	s.dead = false
	sink := sinkOn(s.t, s.cluster, kafkamodel.WriterConfig{Hook: hook, Retries: s.retries})
	defer sink.Close()
	for range 20 {
		s.epoch++
		switch err := s.life(sink); {
		case err == nil:
			return true
		case s.dead:
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
	for id := max(0, v.Batch); id < batches; id++ { // the visible one runs again, as if commits/<id> was not put
		p, err := sink.Prepare(ctx, sinktest.Batch(id, "a", memory.DefaultAllocator, []int64{int64(id) * 2, int64(id)*2 + 1}))
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

// TestEachRequestFailsOrArrivesLate lets each request of a driver fail, kill it or arrive late, then each request of the driver after it; the one after that finds every
// row there once.
func TestEachRequestFailsOrArrivesLate(t *testing.T) {
	runs := 0
	for _, retries := range []int{0, 1} {
		for _, first := range []fate{failsFirst, failsAfter, failsLate, diesFirst, diesAfter, diesLate} {
			for n, more := 0, true; more && !t.Failed(); n++ {
				for m, again := 0, true; again && !t.Failed(); m++ {
					more, again = false, false
					second := []fate{failsAfter, failsLate, diesFirst, diesAfter, diesLate}[(n+m)%5]
					synctest.Test(t, func(t *testing.T) {
						s := &story{t: t, cluster: newTopic(), retries: retries}
						if s.drive(s.driver(n, first, m, &more)) || s.drive(s.driver(m, second, n, &again)) || s.drive(s.driver(-1, happens, 0, nil)) {
							runs++
						}
						if got := idsIn(t, s.cluster); !slices.Equal(got, []int64{0, 1, 2, 3}) {
							t.Errorf("%d retries, request %d: %d, then request %d: %d: the topic holds %d\n%v", retries, n, first, m, second, got, s.asked)
						}
						if at := s.cluster.Committed("progress", "in", 0); at != 7 {
							t.Errorf("the positions of the source are at %d", at)
						}
					})
				}
			}
		}
	}
	t.Logf("%d stories", runs)
	figures.Add(t, "stories of a Kafka sink", runs)
}
