package kafka_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"microbatch/internal/sim/kafkamodel"
	"microbatch/sources"
	"microbatch/sources/kafka"
)

// trace writes down what the brokers are asked, when, and what they answer; now and then, by its seed, it loses a request or an answer.
type trace struct {
	began  time.Time
	mu     sync.Mutex
	chance *rand.Rand
	lines  []string
}

// arrived is a hook. The order of what it draws and writes is that in which requests arrive.
func (tr *trace) arrived(_ context.Context, broker int, req kmsg.Request, serve func() (kmsg.Response, error)) (kmsg.Response, error) {
	luck, line := tr.note(fmt.Sprintf("%v broker %d %s %x", time.Since(tr.began), broker, kmsg.NameForKey(req.Key()), digest(req)))
	if luck == 0 {
		return nil, kafkamodel.ErrCut
	}
	resp, err := serve()
	if luck == 1 {
		resp, err = nil, kafkamodel.ErrCut
	}
	answer := fmt.Sprintf(" %v", err)
	if err == nil {
		answer = fmt.Sprintf(" %x", digest(resp))
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.lines[line] += answer
	return resp, err
}

func (tr *trace) note(line string) (luck, number int) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.lines = append(tr.lines, line)
	return tr.chance.IntN(40), len(tr.lines) - 1
}

func digest(message interface{ AppendTo([]byte) []byte }) uint64 {
	h := fnv.New64a()
	h.Write(message.AppendTo(nil))
	return h.Sum64()
}

// aLifetime is a source on three brokers through every kind of trouble that it survives, and what the brokers saw of it.
func aLifetime(t *testing.T) (lines []string) {
	tr := &trace{chance: rand.New(rand.NewPCG(1, 1))}
	bubble(t, kafkamodel.Config{Brokers: 3}, func(k *kit) {
		tr.began = time.Now()
		k.hook = tr.arrived
		k.Create("orders", 7)
		config := k.config()
		config.FetchBytes, config.OnDataLoss, config.GroupID, config.Pattern, config.Topics = 3000, kafka.Skip, "lag", "orders|more", nil
		config.Schema = nil // inferred
		k.produce(0, 0, 100)
		s := k.open(config)
		from := k.plan(s, "", 1).To
		for round := range 12 {
			for p := range int32(k.Partitions("orders")) {
				txn := k.Begin(int64(p))
				k.Produce("orders", p, txn, rows(round*1000, round*1000+50)...)
				k.produce(p, round*1000+50, round*1000+300)
				if (int(p)+round)%3 == 0 {
					txn.Abort()
				} else {
					txn.Commit()
				}
			}
			switch round {
			case 2:
				k.MoveLeader("orders", 3, 1)
			case 3:
				k.Hide("orders", 2, 0, 4)
				k.Understate("orders", 1, 400, 1)
			case 4:
				k.AddPartitions("orders", 2)
			case 5:
				k.DeleteRecords("orders", 2, 1000)
			case 6:
				k.Compact("orders", 0, nil, true)
			case 7:
				k.Create("more", 3)
				k.Produce("more", 2, nil, rows(0, 10)...)
			case 8:
				k.Stop(2)
				time.AfterFunc(700*time.Millisecond, func() { k.Start(2) })
			case 9:
				k.Slow(3, 20*time.Millisecond)
			}
			p, err := s.Plan(k.Context(), from, sources.Limit{Rows: 900})
			if err != nil {
				k.Fatal(round, err)
			}
			k.read(s, from, p)
			if err := s.Release(k.Context(), p.To); err != nil {
				k.Fatal(err)
			}
			from = p.To
		}
		if err := s.Close(); err != nil {
			k.Fatal(err)
		}
		if at := k.Committed("lag", "orders", 0); at <= 0 {
			k.Errorf("the group has committed %d", at)
		}
	})
	return tr.lines
}

func TestTheSameRunTwiceMakesTheSameRequestsAtTheSameTimes(t *testing.T) {
	first := aLifetime(t)
	kinds := map[string]bool{}
	for _, l := range first {
		kinds[strings.Fields(l)[3]] = true
	}
	if len(kinds) < 5 {
		t.Errorf("only %v", kinds)
	}
	for range 3 {
		if d := cmp.Diff(first, aLifetime(t)); d != "" {
			t.Fatal(d)
		}
	}
	t.Log(len(first), "requests")
}
