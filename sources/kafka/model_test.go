package kafka_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"microbatch/internal/errcode"
	"microbatch/internal/sim/kafkamodel"
	"microbatch/sources"
	"microbatch/sources/kafka"
)

// onFetch is a hook that does something before the nth request for records is served.
func onFetch(n int, do func()) kafkamodel.Intercept {
	var seen atomic.Int32
	return func(_ context.Context, _ int, req kmsg.Request, serve func() (kmsg.Response, error)) (kmsg.Response, error) {
		if req.Key() == int16(kmsg.Fetch) && seen.Add(1) == int32(n) {
			do()
		}
		return serve()
	}
}

func TestALogThatIsCutWhileItIsReadStopsTheBatch(t *testing.T) {
	for _, c := range []struct {
		name string
		cut  int64
		err  bool
	}{
		{name: "before what was read", cut: 0, err: true},
		{name: "in what was read", cut: 100, err: true},
		{name: "in what was planned", cut: 900, err: true},
		{name: "at the end", cut: 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, kafkamodel.Config{}, func(k *kit) {
				k.Create("orders", 1)
				k.produce(0, 0, 1000)
				k.hook = onFetch(3, func() {
					k.Truncate("orders", 0, c.cut)
					k.produce(0, 5000, 7000)
				})
				config := k.config()
				config.FetchBytes = 4000
				s := k.open(config)
				p := k.plan(s, "", 0)
				ids, err := k.tryRead(s, "", p)
				if c.err && !errcode.Has(err, errcode.KafkaTruncated) {
					k.Errorf("%s: %d rows, %v", c.name, len(ids), err)
				}
				if !c.err && !cmp.Equal(kafka.Numbers(0, 1000), ids) {
					k.Errorf("%s: %d rows, %v", c.name, len(ids), err)
				}
			})
		})
	}
}

func TestWhicheverRequestFailsOrLosesItsAnswerNothingIsLostOrDoubled(t *testing.T) {
	for _, eaten := range []bool{false, true} {
		for fails := int32(1); ; fails++ {
			var n atomic.Int32
			bubble(t, kafkamodel.Config{Brokers: 2}, func(k *kit) {
				k.hook = func(ctx context.Context, _ int, _ kmsg.Request, serve func() (kmsg.Response, error)) (kmsg.Response, error) {
					if n.Add(1) != fails {
						return serve()
					}
					if eaten {
						if _, err := serve(); err != nil {
							return nil, err
						}
					}
					return nil, kafkamodel.ErrCut
				}
				k.Create("orders", 3)
				for p := range int32(3) {
					k.produce(p, int(p)*1000, int(p)*1000+300)
				}
				config := k.config()
				config.FetchBytes = 4000
				want := append(append(kafka.Numbers(0, 300), kafka.Numbers(1000, 1300)...), kafka.Numbers(2000, 2300)...)
				ids := k.readAll(k.open(config), "", 400)
				slices.Sort(ids)
				if d := cmp.Diff(want, ids); d != "" {
					k.Errorf("request %d: %s", fails, d)
				}
			})
			if n.Load() < fails {
				t.Logf("answers eaten: %v, %d requests", eaten, n.Load())
				break
			}
		}
	}
}

func TestLeadersThatMoveAndBrokersThatStopWhileTheyAreReadAreFollowed(t *testing.T) {
	for _, c := range []struct {
		name    string
		trouble func(*kit)
	}{
		{"leaders move", func(k *kit) { k.MoveLeader("orders", 0, 2); k.MoveLeader("orders", 1, 1) }},
		{"a leader is elected again", func(k *kit) { k.MoveLeader("orders", 0, 1) }},
		{"nobody leads for a while", func(k *kit) {
			k.MoveLeader("orders", 0, -1)
			time.AfterFunc(5*time.Second, func() { k.MoveLeader("orders", 0, 3) })
		}},
		{"a broker stops for a while", func(k *kit) { k.Stop(1); time.AfterFunc(8*time.Second, func() { k.Start(1) }) }},
		{"a broker is slow", func(k *kit) { k.Slow(1, 3*time.Second) }},
		{"a leader moves to a slow broker", func(k *kit) { k.Slow(3, 3*time.Second); k.MoveLeader("orders", 0, 3) }},
		{"a leader moves, and the metadata lack the topic", func(k *kit) { k.MoveLeader("orders", 0, 2); k.Hide("orders", 1) }},
		{"a leader moves, and the metadata lack the partition", func(k *kit) { k.MoveLeader("orders", 0, 2); k.Hide("orders", 1, 0) }},
		{"a partition comes", func(k *kit) { k.AddPartitions("orders", 1) }},
	} {
		for n := 1; n <= 4; n++ {
			t.Run(c.name, func(t *testing.T) {
				bubble(t, kafkamodel.Config{Brokers: 3}, func(k *kit) {
					k.Create("orders", 2)
					k.produce(0, 0, 1000)
					k.produce(1, 1000, 2000)
					k.hook = onFetch(n, func() { c.trouble(k) })
					config := k.config()
					config.FetchBytes = 4000
					s := k.open(config)
					if d := cmp.Diff(kafka.Numbers(0, 2000), k.read(s, "", k.plan(s, "", 0))); d != "" {
						k.Error(d)
					}
				})
			})
		}
	}
}

func TestABrokerThatStaysAwayIsWaitedForAsLongAsConfigured(t *testing.T) {
	bubble(t, kafkamodel.Config{Brokers: 2}, func(k *kit) {
		k.Create("orders", 2)
		k.produce(0, 0, 100)
		s := k.open(k.config())
		p := k.plan(s, "", 0)
		k.Stop(1)
		began := time.Now()
		_, err := k.tryRead(s, "", p)
		if took := time.Since(began); errcode.ClassOf(err) != errcode.Retry || took < 30*time.Second || took > 40*time.Second {
			k.Errorf("read: after %s: %v", took, err)
		}
		began = time.Now()
		_, err = s.Plan(k.Context(), p.To, sources.Limit{})
		if took := time.Since(began); !errcode.Has(err, errcode.KafkaUnreachable) || took < 20*time.Second || took > 40*time.Second {
			k.Errorf("plan: after %s: %v", took, err)
		}
		k.Start(1)
		if n := len(k.read(s, "", p)); n != 100 {
			k.Errorf("%d rows after it came back", n)
		}
	})
}

func TestRetentionThatOvertakesAReader(t *testing.T) {
	for _, loss := range []kafka.OnDataLoss{kafka.Fail, kafka.Skip} {
		t.Run(string(loss), func(t *testing.T) {
			bubble(t, kafkamodel.Config{}, func(k *kit) {
				k.Create("orders", 1)
				k.produce(0, 0, 1000)
				k.hook = onFetch(3, func() { k.DeleteRecords("orders", 0, 950) })
				config := k.config()
				config.FetchBytes, config.OnDataLoss = 4000, loss
				s := k.open(config)
				p := k.plan(s, "", 0)
				ids, err := k.tryRead(s, "", p)
				if loss == kafka.Fail {
					if !errcode.Has(err, errcode.KafkaRangeLost) || !kafka.Contains(err, "orders-0", ", 950)") {
						k.Error(err)
					}
					return
				}
				if err != nil || !slices.Contains(ids, 0) || slices.Contains(ids, 940) || !slices.Contains(ids, 950) || !slices.Contains(ids, 999) {
					k.Errorf("%d rows, %v", len(ids), err)
				}
				if !k.Noticed("orders-0", ", 950)") {
					k.Errorf("notices %q", k.Said())
				}
			})
		})
	}
}

func TestALogThatWasCutIsNeverReadOnFromAnOldPosition(t *testing.T) {
	for _, c := range []struct {
		name string
		cut  func(*kit)
	}{
		{"shorter", func(k *kit) { k.Truncate("orders", 0, 50) }},
		{"cut and grown again", func(k *kit) { k.Truncate("orders", 0, 50); k.produce(0, 7000, 7500) }},
		{"cut, elected again and grown", func(k *kit) { k.Truncate("orders", 0, 50); k.MoveLeader("orders", 0, 1); k.produce(0, 7000, 7500) }},
		{"cut and grown by one", func(k *kit) { k.Truncate("orders", 0, 50); k.Produce("orders", 0, nil, rows(0, 51)...) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, kafkamodel.Config{}, func(k *kit) {
				k.Create("orders", 1)
				k.Produce("orders", 0, nil, rows(0, 50)...)
				k.Produce("orders", 0, nil, rows(50, 100)...)
				s := k.open(k.config())
				p := k.plan(s, "", 0)
				k.read(s, "", p)
				c.cut(k)
				for what, try := range map[string]func() error{
					"plan":                       func() error { _, err := s.Plan(k.Context(), p.To, sources.Limit{}); return err },
					"the range again":            func() error { _, err := k.tryRead(s, "", p); return err },
					"the range after a restart":  func() error { _, err := k.tryRead(k.open(k.config()), "", p); return err },
					"the position after restart": func() error { _, err := k.open(k.config()).Splits(k.Context(), p.To, p.To, p.Aux, 1); return err },
				} {
					if err := try(); !errcode.Has(err, errcode.KafkaTruncated) && !(c.name == "shorter" && errcode.Has(err, errcode.KafkaNoProgress)) {
						k.Errorf("%s: %v", what, err)
					}
				}
			})
		})
	}
}

func TestALeaderThatMovesWhileItIsAskedForTheEndOfAnEpochIsFollowedAtOnce(t *testing.T) {
	bubble(t, kafkamodel.Config{Brokers: 3}, func(k *kit) {
		k.Create("orders", 1)
		k.produce(0, 0, 100)
		moves := 0
		k.hook = func(_ context.Context, _ int, req kmsg.Request, serve func() (kmsg.Response, error)) (kmsg.Response, error) {
			if req.Key() == int16(kmsg.OffsetForLeaderEpoch) && moves < 2 {
				moves++
				k.MoveLeader("orders", 0, int32(1+moves))
			}
			return serve()
		}
		s := k.open(k.config())
		p := k.plan(s, "", 0)
		k.read(s, "", p)
		k.MoveLeader("orders", 0, 1) // so that there is a past epoch to ask about
		k.produce(0, 100, 200)
		began := time.Now()
		q := k.plan(s, p.To, 0)
		if d := cmp.Diff(kafka.Numbers(100, 200), k.read(s, p.To, q)); d != "" || moves != 2 {
			k.Errorf("%d moves: %s", moves, d)
		}
		if took := time.Since(began); took > 2*time.Second {
			k.Errorf("took %s", took)
		}
	})
}

// A leader whose reign began before anything was written, after the metadata were asked for and before the end was: what is read is of his reign alone.
func TestALeaderThatMovesBetweenTheMetadataAndTheEndIsFollowed(t *testing.T) {
	bubble(t, kafkamodel.Config{Brokers: 3}, func(k *kit) {
		k.Create("orders", 1)
		begun, moved := false, false
		k.hook = func(_ context.Context, _ int, req kmsg.Request, serve func() (kmsg.Response, error)) (kmsg.Response, error) {
			resp, err := serve()
			if begun && !moved && req.Key() == int16(kmsg.Metadata) {
				moved = true
				k.MoveLeader("orders", 0, 2)
				k.produce(0, 0, 100)
			}
			return resp, err
		}
		s := k.open(k.config())
		begun = true
		p := k.plan(s, "", 0)
		if d := cmp.Diff(kafka.Numbers(0, 100), k.read(s, "", p)); d != "" || !moved {
			k.Error(d)
		}
	})
}

func TestATopicMadeAgainIsNoticedWheneverItHappens(t *testing.T) {
	for n := 1; n <= 4; n++ {
		bubble(t, kafkamodel.Config{}, func(k *kit) {
			k.Create("orders", 1)
			k.produce(0, 0, 1000)
			k.hook = onFetch(n, func() { k.Recreate("orders", 1); k.produce(0, 0, 5000) })
			config := k.config()
			config.FetchBytes = 4000
			s := k.open(config)
			p := k.plan(s, "", 0)
			if _, err := k.tryRead(s, "", p); !errcode.Has(err, errcode.KafkaTopicRecreated) {
				k.Errorf("read: %v", err)
			}
			if _, err := s.Plan(k.Context(), p.To, sources.Limit{}); !errcode.Has(err, errcode.KafkaTopicRecreated) {
				k.Errorf("plan: %v", err)
			}
			if _, err := k.tryRead(k.open(config), "", p); !errcode.Has(err, errcode.KafkaTopicRecreated) {
				k.Errorf("rerun: %v", err)
			}
		})
	}
}

func TestAPartitionThatComesBetweenPlanAndReadIsReadOnceFromItsFirstOffset(t *testing.T) {
	bubble(t, kafkamodel.Config{Brokers: 2}, func(k *kit) {
		k.Create("orders", 1)
		k.produce(0, 0, 100)
		s := k.open(k.config())
		p := k.plan(s, "", 0)
		k.AddPartitions("orders", 1)
		k.produce(1, 100, 300)
		if d := cmp.Diff(kafka.Numbers(0, 100), k.read(s, "", p)); d != "" {
			k.Errorf("the planned range: %s", d)
		}
		q := k.plan(s, p.To, 0)
		for what, s := range map[string]*kafka.Source{"here": s, "after a restart": k.open(k.config())} {
			if d := cmp.Diff(kafka.Numbers(100, 300), k.read(s, p.To, q)); d != "" {
				k.Errorf("the next range, %s: %s", what, d)
			}
		}
		if r := k.plan(s, q.To, 0); r.To != q.To {
			k.Errorf("once more: %s", r.To)
		}
	})
}

func TestMetadataAndEndsThatCannotBeTrueAreAskedForAgain(t *testing.T) {
	for _, c := range []struct {
		name string
		lie  func(k *kit, answers int)
		code errcode.Code
	}{
		{"no topic", func(k *kit, n int) { k.Hide("orders", n) }, errcode.KafkaPartitionVanished},
		{"no partition", func(k *kit, n int) { k.Hide("orders", n, 1) }, errcode.KafkaPartitionVanished},
		{"no partitions", func(k *kit, n int) { k.Hide("orders", n, 0, 1) }, errcode.KafkaPartitionVanished},
		{"an end before the position", func(k *kit, n int) { k.Understate("orders", 1, 30, n) }, errcode.KafkaTruncated},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, kafkamodel.Config{}, func(k *kit) {
				k.Create("orders", 2)
				k.produce(0, 0, 100)
				k.produce(1, 100, 200)
				s := k.open(k.config())
				p := k.plan(s, "", 0)
				for n := range 4 {
					c.lie(k, n)
					if q := k.plan(s, p.To, 0); q.To != p.To {
						k.Errorf("%d lies: %s", n, q.To)
					}
				}
				c.lie(k, 1000)
				if _, err := s.Plan(k.Context(), p.To, sources.Limit{}); !errcode.Has(err, c.code) {
					k.Errorf("for ever: %v", err)
				}
			})
		})
	}
}

// A start asks again, too, when the topic, or its only partition, is missing from an answer.
func TestAStartAsksAgainForATopicThatTheMetadataLack(t *testing.T) {
	for name, partitions := range map[string][]int32{"the topic": nil, "its only partition": {0}} {
		for answers := range 6 {
			t.Run(fmt.Sprintf("%s is missing %d times", name, answers), func(t *testing.T) {
				bubble(t, kafkamodel.Config{}, func(k *kit) {
					k.Create("orders", 1)
					k.produce(0, 0, 100)
					open := func() error {
						s, err := kafka.New(k.config())
						if err != nil {
							k.Fatal(err)
						}
						defer s.Close()
						return s.Open(k.Context(), k.own)
					}
					k.Hide("orders", answers, partitions...)
					if err := open(); (err != nil) != (answers >= 4) || err != nil && !errcode.Has(err, errcode.KafkaTopicMissing) {
						k.Error(err)
					}
					if err := open(); err != nil {
						k.Error("the next start:", err)
					}
				})
			})
		}
	}
}

func TestHolesAreCoveredWhereverTheyLie(t *testing.T) {
	holes := func(gone ...[2]int64) func(kafkamodel.Record) bool {
		return func(r kafkamodel.Record) bool {
			return !slices.ContainsFunc(gone, func(g [2]int64) bool { return g[0] <= r.Offset && r.Offset < g[1] })
		}
	}
	for _, c := range []struct {
		name string
		keep func(kafkamodel.Record) bool
	}{
		{"first", holes([2]int64{0, 150})},
		{"middle", holes([2]int64{250, 750})},
		{"last", holes([2]int64{850, 1000})},
		{"first, middle and last", holes([2]int64{0, 1}, [2]int64{500, 620}, [2]int64{990, 1000})},
		{"every other record", func(r kafkamodel.Record) bool { return r.Offset%2 == 1 }},
		{"one record is left", func(r kafkamodel.Record) bool { return r.Offset == 500 }},
		{"all", holes([2]int64{0, 1000})},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, kafkamodel.Config{}, func(k *kit) {
				k.Create("orders", 1)
				k.produce(0, 0, 1000)
				k.Compact("orders", 0, c.keep, true)
				var want []int
				for i := range 1000 {
					if c.keep(kafkamodel.Record{Offset: int64(i)}) {
						want = append(want, i)
					}
				}
				for _, most := range []int64{0, 7, 100, 333} {
					if d := cmp.Diff(want, k.readAll(k.open(k.config()), "", most)); d != "" {
						k.Errorf("%d a range: %s", most, d)
					}
				}
			})
		})
	}
}

func TestARangeOfMarkersAloneIsCovered(t *testing.T) {
	bubble(t, kafkamodel.Config{}, func(k *kit) {
		k.Create("orders", 1)
		for i := range 20 {
			txn := k.Begin(1)
			k.Produce("orders", 0, txn, row(i))
			txn.Abort()
		}
		k.Compact("orders", 0, nil, false)
		s := k.open(k.config())
		p := k.plan(s, "", 0)
		if ids := k.read(s, "", p); len(ids) > 0 || p.To != `{"orders":{"0":40}}` {
			k.Errorf("%v of %s", ids, p.To)
		}
	})
}

func TestCompactionWhileItIsReadLeavesNoRowOut(t *testing.T) {
	bubble(t, kafkamodel.Config{}, func(k *kit) {
		k.Create("orders", 1)
		k.produce(0, 0, 1000)
		k.produce(0, 0, 500) // the same keys again
		k.hook = onFetch(3, func() { k.Compact("orders", 0, nil, true) })
		config := k.config()
		config.FetchBytes = 4000
		s := k.open(config)
		ids := slices.Compact(k.read(s, "", k.plan(s, "", 0)))
		if d := cmp.Diff(kafka.Numbers(0, 1000), ids); d != "" {
			k.Error(d)
		}
	})
}

func TestInterleavedTransactionsOfManyProducers(t *testing.T) {
	bubble(t, kafkamodel.Config{AbortedBackwards: true}, func(k *kit) {
		k.Create("orders", 1)
		chance := rand.New(rand.NewPCG(1, 2))
		open := map[int64]*kafkamodel.Txn{}
		written := map[int64][]int{}
		var want []int
		for i := range 600 {
			producer := chance.Int64N(6)
			if open[producer] == nil {
				open[producer] = k.Begin(producer)
			}
			k.Produce("orders", 0, open[producer], row(i))
			written[producer] = append(written[producer], i)
			if chance.IntN(7) == 0 {
				if chance.IntN(2) == 0 {
					open[producer].Commit()
					want = append(want, written[producer]...)
				} else {
					open[producer].Abort()
				}
				delete(open, producer)
				delete(written, producer)
			}
		}
		for producer := range int64(6) {
			if open[producer] != nil {
				open[producer].Abort()
			}
		}
		slices.Sort(want)
		for _, size := range []int32{300, 3000, 0} { // the list of what was aborted comes for parts of transactions
			config := k.config()
			config.FetchBytes = size
			for _, most := range []int64{0, 50} {
				ids := k.readAll(k.open(config), "", most)
				slices.Sort(ids)
				if d := cmp.Diff(want, ids); d != "" {
					k.Errorf("%d bytes a fetch, %d a range: %s", size, most, d)
				}
			}
		}
	})
}

func TestAHangingTransactionHoldsTheReaderAndIsNamed(t *testing.T) {
	bubble(t, kafkamodel.Config{}, func(k *kit) {
		k.Create("orders", 1)
		k.produce(0, 0, 10)
		var fetches atomic.Int32
		k.hook = func(_ context.Context, _ int, req kmsg.Request, serve func() (kmsg.Response, error)) (kmsg.Response, error) {
			if req.Key() == int16(kmsg.Fetch) {
				fetches.Add(1)
			}
			return serve()
		}
		hanging := k.Begin(77)
		k.Produce("orders", 0, hanging, rows(10, 20)...)
		k.produce(0, 20, 30)
		s := k.open(k.config())
		p := k.plan(s, "", 0)
		if d := cmp.Diff(kafka.Numbers(0, 10), k.read(s, "", p)); d != "" {
			k.Error(d)
		}
		before := fetches.Load()
		for range 20 {
			time.Sleep(10 * time.Second)
			if q := k.plan(s, p.To, 0); q.To != p.To {
				k.Fatalf("plan %s", q.To)
			}
		}
		if fetches.Load() != before || len(k.Said()) != 1 || !k.Noticed("orders-0", "stable offset at 10", "20 records", "producer id 77") {
			k.Errorf("%d fetches, notices %q", fetches.Load()-before, k.Said())
		}
		hanging.Commit()
		if d := cmp.Diff(kafka.Numbers(10, 30), k.read(s, p.To, k.plan(s, p.To, 0))); d != "" {
			k.Error(d)
		}
	})
}

func TestABatchLargerThanEveryLimitComesWhole(t *testing.T) {
	bubble(t, kafkamodel.Config{}, func(k *kit) {
		k.Create("orders", 1)
		for i := range 2 {
			k.Produce("orders", 0, nil, kafkamodel.Record{Value: fmt.Appendf(nil, `{"id":%d,"name":%q}`, i, strings.Repeat("x", 9<<20))})
		}
		config := k.config()
		config.FetchBytes, config.BufferBytes = 1000, 1000
		s := k.open(config)
		if ids := k.read(s, "", k.plan(s, "", 0)); len(ids) != 2 {
			k.Errorf("%v", ids)
		}
	})
}
