package kafka_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/sim/kafkamodel"
	"microbatch/sources"
	"microbatch/sources/kafka"
)

// lifetime is a random sequence of batches, with trouble and restarts between and within them.
type lifetime struct {
	*kit
	chance *rand.Rand
	mu     sync.Mutex // of luck, which hooks draw from, and of next where they write
	luck   *rand.Rand
	calm   atomic.Bool

	next int // the id of the next row
	open map[int64]*kafkamodel.Txn
	rows map[int64][]int // of open transactions
	want []int
}

// roll draws a number for a request.
func (l *lifetime) roll(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.luck.IntN(n)
}

func (l *lifetime) trouble(ctx context.Context, _ int, _ kmsg.Request, serve func() (kmsg.Response, error)) (kmsg.Response, error) {
	if l.calm.Load() {
		return serve()
	}
	switch l.roll(25) {
	case 0:
		return nil, kafkamodel.ErrCut
	case 1:
		if _, err := serve(); err != nil {
			return nil, err
		}
		return nil, kafkamodel.ErrCut
	case 2:
		resp, err := serve()
		select {
		case <-time.After(time.Duration(l.roll(3000)) * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		return resp, err
	case 3:
		l.shake()
	}
	return serve()
}

// shake moves something in the cluster.
func (l *lifetime) shake() {
	partition, broker := int32(l.roll(l.Partitions("orders"))), int32(1+l.roll(3))
	switch l.roll(5) {
	case 0:
		l.MoveLeader("orders", partition, broker)
	case 1:
		l.Stop(broker)
		time.AfterFunc(time.Duration(l.roll(4000))*time.Millisecond, func() { l.Start(broker) })
	case 2:
		l.Hide("orders", l.roll(3), partition)
	case 3:
		l.Understate("orders", partition, int64(l.roll(100)), l.roll(3))
	case 4:
		l.Slow(broker, time.Duration(l.roll(200))*time.Millisecond)
	}
}

// write appends rows, in and out of transactions.
func (l *lifetime) write() {
	for range 1 + l.chance.IntN(30) {
		producer, partition := l.chance.Int64N(5), int32(l.chance.IntN(l.Partitions("orders")))
		n := 1 + l.chance.IntN(40)
		ids := kafka.Numbers(l.next, l.next+n)
		l.next += n
		switch {
		case producer == 0:
			l.Produce("orders", partition, nil, rows(ids[0], l.next)...)
			l.want = append(l.want, ids...)
			continue
		case l.open[producer] == nil:
			l.open[producer] = l.Begin(producer)
		}
		l.Produce("orders", partition, l.open[producer], rows(ids[0], l.next)...)
		l.rows[producer] = append(l.rows[producer], ids...)
		if l.chance.IntN(3) == 0 {
			l.end(producer)
		}
	}
	if l.chance.IntN(8) == 0 {
		l.AddPartitions("orders", 1)
	}
}

func (l *lifetime) end(producer int64) {
	if l.chance.IntN(3) > 0 {
		l.open[producer].Commit()
		l.want = append(l.want, l.rows[producer]...)
	} else {
		l.open[producer].Abort()
	}
	delete(l.open, producer)
	delete(l.rows, producer)
}

// live reads what is written, batch after batch, and returns all ids.
func (l *lifetime) live(config kafka.Config) (ids []int) {
	s := l.start(config)
	var from ident.Offset
	for l.next < 4000 {
		l.write()
		var p sources.Planned
		l.patiently(func() (err error) {
			p, err = s.Plan(l.Context(), from, sources.Limit{Rows: int64(l.chance.IntN(3) * 200)})
			return err
		})
		var batch []int
		l.patiently(func() (err error) { batch, err = l.tryRead(s, from, p); return err })
		if l.chance.IntN(4) == 0 { // a crash before the commit: the range is read again, by another process
			s.Close()
			s = l.start(config)
			l.patiently(func() error {
				again, err := l.tryRead(s, from, p)
				if d := cmp.Diff(batch, again); err == nil && d != "" {
					l.Errorf("read again: %s", d)
				}
				return err
			})
		}
		ids, from = append(ids, batch...), p.To
	}
	for _, producer := range []int64{1, 2, 3, 4} {
		if l.open[producer] != nil {
			l.end(producer)
		}
	}
	l.calm.Store(true)
	for b := range int32(3) {
		l.Start(b + 1)
	}
	for p := range int32(l.Partitions("orders")) {
		l.Hide("orders", 0, p)
		l.Understate("orders", p, 0, 0)
	}
	return append(ids, l.readAll(s, from, 0)...)
}

// start is a source that is open and pinned.
func (l *lifetime) start(config kafka.Config) *kafka.Source {
	s, err := kafka.New(config)
	if err != nil {
		l.Fatal(err)
	}
	l.patiently(func() error { return s.Open(l.Context(), l.own) })
	l.patiently(func() error { return s.Pin(l.Context()) })
	l.Cleanup(func() { s.Close() })
	return s
}

// patiently repeats what may fail for a while, as the engine does.
func (l *lifetime) patiently(do func() error) {
	l.Helper()
	var err error
	for range 5 {
		if err = do(); err == nil {
			return
		}
	}
	l.Fatal(err)
}

func TestRandomLifetimesReadEveryCommittedRowOnce(t *testing.T) {
	for seed := range uint64(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, kafkamodel.Config{Brokers: 3, AbortedBackwards: seed%2 == 0}, func(k *kit) {
				k.Create("orders", 2)
				l := &lifetime{
					kit: k, chance: rand.New(rand.NewPCG(seed, 0)), luck: rand.New(rand.NewPCG(seed, 1)),
					open: map[int64]*kafkamodel.Txn{}, rows: map[int64][]int{},
				}
				k.hook = l.trouble
				config := k.config()
				config.FetchBytes = []int32{300, 3000, 0}[seed%3]
				ids := l.live(config)
				slices.Sort(ids)
				slices.Sort(l.want)
				if d := cmp.Diff(l.want, ids); d != "" {
					k.Error(d)
				}
			})
		})
	}
}

// cuts is a hook under which logs are cut now and then, and grow again.
func (l *lifetime) cuts(_ context.Context, _ int, _ kmsg.Request, serve func() (kmsg.Response, error)) (kmsg.Response, error) {
	switch l.roll(30) {
	case 0:
		partition := int32(l.roll(2))
		_, _, end := l.Offsets("orders", partition)
		l.Truncate("orders", partition, max(0, end-int64(l.roll(60))))
		l.mu.Lock()
		l.next += 100
		l.Produce("orders", partition, nil, rows(l.next-100, l.next-l.luck.IntN(100))...)
		l.mu.Unlock()
	case 1:
		l.MoveLeader("orders", int32(l.roll(2)), int32(1+l.roll(3)))
	case 2:
		return nil, kafkamodel.ErrCut
	}
	return serve()
}

// TestAPlanThatSucceedsVouchesForAllThatWasRead cuts logs at any time: whatever was read of what is gone is found out by the next plan at the latest.
func TestAPlanThatSucceedsVouchesForAllThatWasRead(t *testing.T) {
	batches, found := 0, map[string]int{}
	for seed := range uint64(40) {
		bubble(t, kafkamodel.Config{Brokers: 3}, func(k *kit) {
			k.Create("orders", 2)
			l := &lifetime{kit: k, luck: rand.New(rand.NewPCG(seed, 1))}
			k.hook = l.cuts
			config := k.config()
			config.FetchBytes = 2000
			s := l.start(config)
			var from ident.Offset
			var read []int
			for range 30 {
				l.mu.Lock()
				for p := range int32(2) {
					k.Produce("orders", p, nil, rows(l.next, l.next+50)...)
					l.next += 50
				}
				l.mu.Unlock()
				held := k.before(from)
				p, err := s.Plan(k.Context(), from, sources.Limit{Rows: 120})
				if errcode.Has(err, errcode.KafkaTruncated) {
					found["plan"]++
					return
				}
				if err != nil {
					continue
				}
				if d := cmp.Diff(held, read); d != "" {
					k.Fatalf("seed %d: planned from %s, though the log no longer held what was read (-log +read): %s", seed, from, d)
				}
				ids, err := k.tryRead(s, from, p)
				if errcode.Has(err, errcode.KafkaTruncated) {
					found["read"]++
					return
				}
				if err != nil {
					continue
				}
				batches++
				from, read = p.To, append(read, ids...)
				slices.Sort(read)
			}
		})
	}
	t.Logf("%d batches, cuts found out: %v", batches, found)
}

// before are the ids that the logs hold before a position.
func (k *kit) before(at ident.Offset) (ids []int) {
	if at == "" {
		return nil
	}
	var position map[string]map[int32]int64
	if err := json.Unmarshal([]byte(at), &position); err != nil {
		k.Fatal(err)
	}
	for partition, end := range position["orders"] {
		for _, r := range k.Records("orders", partition) {
			var value struct{ ID int }
			if err := json.Unmarshal(r.Value, &value); err != nil {
				k.Fatal(err)
			}
			if r.Offset < end {
				ids = append(ids, value.ID)
			}
		}
	}
	slices.Sort(ids)
	return ids
}
