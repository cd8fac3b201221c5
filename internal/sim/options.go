package sim

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	"microbatch/internal/sim/world"
)

// options are all that a run depends on. Those of a seed are derived from it, so a run is repeated by its seed; a shrunk run by its options.
type options struct {
	Seed        uint64
	Medium      world.Medium
	Sink        string // parquet or delta: a table of this format; foreachbatch; or a target: kafka, postgres, files, http
	Mode        string // how rows are put there; "": they are added
	Key         string // the column that tells rows apart, where the mode has one
	AtMostOnce  bool   // batches are recorded before they are committed
	Kafka       bool   // the source is that of Kafka, on a model of a cluster
	Partitions  int    // at the start
	Growing     bool   // partitions come while it runs
	Batches     int    // the safety phase ends when so many are visible
	Limit       int64  // rows of a batch
	Every       time.Duration
	Once        bool  // drivers end when they have caught up, and are started again
	BadEvery    int64 // of so many rows one does not decode; 0: none
	Filter      int   // index of filters
	Select      int   // index of selects
	PartitionBy string
	Timeout     time.Duration // of a batch
	Faults      []fault
}

// String is the options one a line.
func (o options) String() string {
	var b strings.Builder
	v := reflect.ValueOf(o)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; name != "Faults" {
			fmt.Fprintf(&b, "  %-12s %v\n", name, v.Field(i).Interface())
		}
	}
	for _, f := range o.Faults {
		fmt.Fprintf(&b, "  fault        %s\n", f)
	}
	return b.String()
}

// derive is the options of a seed.
func derive(seed uint64) options {
	r := rand.New(rand.NewPCG(seed, 1))
	to := destinations[seed%uint64(len(destinations))]
	o := options{
		Seed: seed, Medium: world.Medium(r.IntN(2)), Sink: to.sink, Mode: to.mode,
		Kafka: r.IntN(3) == 0, Partitions: 1 + r.IntN(4), Growing: r.IntN(3) == 0, Limit: 1 + r.Int64N(30), Once: r.IntN(4) == 0,
		Filter: r.IntN(len(filters)), Select: r.IntN(len(selects)), BadEvery: pick[int64](r, 0, 0, 3, 7, 50), PartitionBy: pick(r, "", "", "key", "part"),
		AtMostOnce: r.IntN(6) == 0,
	}
	o.fit(r)
	switch n := r.IntN(100); {
	case n < 6: // long enough for a purge while somebody sleeps
		o.Batches, o.Limit = 215+r.IntN(150), 1+r.Int64N(3)
	case n < 30:
		o.Batches = 30 + r.IntN(50)
	default:
		o.Batches = 8 + r.IntN(25)
	}
	if !o.Once && r.IntN(4) == 0 {
		o.Every = pick(r, time.Second, 7*time.Second, time.Minute)
	}
	if r.IntN(4) == 0 {
		o.Timeout = pick(r, 30*time.Second, 10*time.Minute)
	}
	o.Faults = deriveFaults(r, o)
	return o
}

// destination is where a seed writes, and how.
type destination struct{ sink, mode string }

// writes is the destination in words.
func (d destination) writes() string { return strings.TrimSpace(d.sink + " " + d.mode) }

// destinations are where seeds write, in turn: what is used more stands here more often.
var destinations = []destination{
	{"parquet", ""}, {"kafka", ""}, {"delta", ""}, {"postgres", "append"}, {"parquet", "upsert"}, {"files", ""}, {"delta", ""},
	{"postgres", "upsert"}, {"parquet", ""}, {"http", ""}, {"delta", "deduplicate"}, {"kafka", ""}, {"foreachbatch", ""}, {"parquet", "deduplicate"},
	{"postgres", "ledger"}, {"delta", "upsert"}, {"files", ""}, {"parquet", "overwrite"}, {"delta", "overwrite"},
}

// fit takes from the options what does not go together.
func (o *options) fit(r *rand.Rand) {
	if o.keyed() {
		o.Key = pick(r, "key", "seq")
		if o.Select == 1 { // it drops seq
			o.Select = 0
		}
	}
	if o.Sink == "http" { // it may send a row again
		o.AtMostOnce = false
	}
}

// writes says where and how rows are put.
func (o options) writes() string { return destination{o.Sink, o.Mode}.writes() }

// tables: the output is a table.
func (o options) tables() bool { return o.Sink == "parquet" || o.Sink == "delta" }

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }
