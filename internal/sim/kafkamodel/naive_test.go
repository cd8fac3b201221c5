package kafkamodel_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"

	"microbatch/internal/sim/kafkamodel"
)

// naive is a partition as a list: one entry for each offset that was ever given, and nothing clever.
type naive struct {
	begin   int64
	entries []*entry
}

type entry struct {
	text   string
	time   int64
	epoch  int32
	batch  int
	txn    *naiveTxn // nil: none
	marker bool
	gone   bool // by compaction
}

type naiveTxn struct{ committed, aborted bool }

func (n *naive) stable() int64 {
	for i, e := range n.entries {
		if t := e.txn; t != nil && !e.marker && !t.committed && !t.aborted {
			return int64(i)
		}
	}
	return int64(len(n.entries))
}

func (n *naive) visible(from int64, committed bool) (texts []string) {
	for i, e := range n.entries {
		switch at := int64(i); {
		case at < from || at < n.begin || e.marker || e.gone:
		case committed && (at >= n.stable() || e.txn != nil && e.txn.aborted):
		default:
			texts = append(texts, fmt.Sprintf("%d %s", i, e.text))
		}
	}
	return texts
}

// TestTheModelEqualsANaiveOne plays random scripts of everything that can happen to a log, and reads it by a real client's parser in answers of random sizes.
func TestTheModelEqualsANaiveOne(t *testing.T) {
	for seed := range uint64(20) {
		chance := rand.New(rand.NewPCG(seed, 1))
		c := kafkamodel.New(kafkamodel.Config{Gzip: seed%2 == 1, AbortedBackwards: seed%3 == 0})
		c.Create("orders", 1)
		client := c.Client("", nil)
		id := [16]byte{0: 0x6d, 6: 0x40, 8: 0x80, 15: 1}
		var n naive
		type both struct {
			*kafkamodel.Txn
			naive *naiveTxn
		}
		txns := map[int64]both{}
		epoch, batch := int32(0), 0
		for step := range 80 {
			producer := chance.Int64N(4)
			txn, running := txns[producer]
			switch kind := chance.IntN(20); {
			case kind < 3 && running:
				committed := chance.IntN(2) == 0
				if committed {
					txn.Commit()
				} else {
					txn.Abort()
				}
				delete(txns, producer)
				wrote := false
				for _, e := range n.entries {
					wrote = wrote || e.txn == txn.naive
				}
				if txn.naive.committed, txn.naive.aborted = committed, !committed; wrote {
					batch++
					n.entries = append(n.entries, &entry{txn: txn.naive, marker: true, epoch: epoch, batch: batch})
				}
			case kind == 3:
				_, _, end := c.Offsets("orders", 0)
				n.begin = max(n.begin, chance.Int64N(end/2+1))
				c.DeleteRecords("orders", 0, n.begin)
			case kind == 4:
				odds := chance.IntN(3)
				keep := func(r kafkamodel.Record) bool { return int(r.Offset)%3 != odds }
				c.Compact("orders", 0, keep, chance.IntN(2) == 0)
				for i, e := range n.entries {
					if int64(i) < n.stable() && !e.marker && (!keep(kafkamodel.Record{Offset: int64(i)}) || e.txn != nil && e.txn.aborted) {
						e.gone = true
					}
				}
			case kind == 5:
				c.MoveLeader("orders", 0, 1)
				epoch++
			case kind == 6 && len(n.entries) > 0:
				at := max(n.begin, int64(len(n.entries))-chance.Int64N(10))
				at = c.Truncate("orders", 0, at)
				epoch++
				for _, e := range n.entries[at:] {
					if e.marker {
						*e.txn = naiveTxn{}
						for p, other := range txns { // the producer has gone on, or thinks that it has ended: only ours to undo
							if other.naive == e.txn {
								delete(txns, p)
							}
						}
					}
				}
				n.entries = n.entries[:at]
			default:
				var in *kafkamodel.Txn
				var naiveIn *naiveTxn
				if chance.IntN(2) == 0 {
					if !running {
						txn = both{c.Begin(producer + 10*int64(step)), &naiveTxn{}}
						txns[producer] = txn
					}
					in, naiveIn = txn.Txn, txn.naive
				}
				batch++
				var records []kafkamodel.Record
				for range 1 + chance.IntN(6) {
					at := time.UnixMilli(int64(1000*step + chance.IntN(3000)))
					r := kafkamodel.Record{Key: fmt.Appendf(nil, "k%d", chance.IntN(9)), Value: fmt.Appendf(nil, "v%d", len(n.entries)), Time: at}
					records = append(records, r)
					n.entries = append(n.entries, &entry{
						text: fmt.Sprintf("%q %q %d", r.Key, r.Value, at.UnixMilli()), time: at.UnixMilli(), epoch: epoch, batch: batch, txn: naiveIn,
					})
				}
				c.Produce("orders", 0, in, records...)
			}
			compare(t, fmt.Sprintf("seed %d, step %d", seed, step), chance, c, client, id, &n)
		}
	}
}

func compare(t *testing.T, where string, chance *rand.Rand, c *kafkamodel.Cluster, client *kafkamodel.Client, id [16]byte, n *naive) {
	t.Helper()
	begin, stable, end := c.Offsets("orders", 0)
	if begin != n.begin || stable != max(begin, n.stable()) && stable != n.stable() || end != int64(len(n.entries)) {
		t.Fatalf("%s: [%d, %d, %d), want [%d, %d, %d)", where, begin, stable, end, n.begin, n.stable(), len(n.entries))
	}
	var visible []string
	for _, r := range c.Records("orders", 0) {
		visible = append(visible, fmt.Sprintf("%d %q %q %d", r.Offset, r.Key, r.Value, r.Time.UnixMilli()))
	}
	if d := cmp.Diff(n.visible(0, true), visible); d != "" {
		t.Fatalf("%s: records: %s", where, d)
	}
	for isolation := range int8(2) {
		from := begin + chance.Int64N(end-begin+1)
		most := int32(1 + chance.IntN(800))
		if d := cmp.Diff(n.visible(from, isolation == 1), readFrom(t, client, id, from, most, isolation)); d != "" {
			t.Fatalf("%s: isolation %d from %d, %d bytes at once: %s", where, isolation, from, most, d)
		}
		for _, out := range []int64{begin - 1, end + 1} {
			if s, _ := look(t.Context(), t, client.Broker(1), id, out, most, isolation); s.Err != kerr.OffsetOutOfRange.Code {
				t.Fatalf("%s: a fetch at %d outside of [%d, %d] answers %d", where, out, begin, end, s.Err)
			}
		}
	}
	when := int64(chance.IntN(90_000))
	want := int64(-1)
	for i, e := range n.entries {
		if int64(i) >= n.begin && !e.marker && !e.gone && e.time >= when {
			want = int64(i)
			break
		}
	}
	if have, _ := offsets(t.Context(), t, client, when, 0); have != want {
		t.Fatalf("%s: the offset of %d is %d, want %d", where, when, have, want)
	}
}

// readFrom reads to the end, as a client does: the next fetch begins where the parser got to, and an answer without bytes is the end.
func readFrom(t *testing.T, client *kafkamodel.Client, id [16]byte, from int64, most int32, isolation int8) (texts []string) {
	t.Helper()
	for {
		s, next := look(t.Context(), t, client.Broker(1), id, from, most, isolation)
		if s.Err != 0 {
			t.Fatalf("fetch at %d: error %d", from, s.Err)
		}
		texts = append(texts, s.Records...)
		if len(s.Batches) == 0 {
			return texts
		}
		if next <= from {
			t.Fatalf("no progress at %d: %+v", from, s)
		}
		from = next
	}
}
