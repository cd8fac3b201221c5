package kafka_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"microbatch/ident"
	"microbatch/internal/sim/kafkamodel"
	"microbatch/sources"
	"microbatch/sources/kafka"
)

// lifetime is a random sequence of batches, with trouble and restarts between and within them.
type lifetime struct {
	*kit
	chance *rand.Rand
	mu     sync.Mutex // of luck, which hooks draw from
	luck   *rand.Rand
	calm   bool

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
	if l.calm {
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
		ids := numbers(l.next, l.next+n)
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
	l.calm = true
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
