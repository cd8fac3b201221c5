//go:build failpoints

package crashtest

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"microbatch/batch"
	"microbatch/engine"
	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/internal/failpoint"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/kafkamodel"
	"microbatch/internal/sim/pgmodel"
	"microbatch/internal/sim/world"
	"microbatch/internal/sourcecode"
	"microbatch/objstore"
	"microbatch/sinks/kafka"
	"microbatch/sinks/lakehouse"
	"microbatch/sinks/postgres"
	"microbatch/transforms"
)

// sinkKind is where a scenario's batches go.
type sinkKind struct {
	name   string
	column string // of the page
	medium world.Medium
	format string
	// target makes what the batches go to that is no table; rejected rows go to a table, and the checkpoint is, as medium and format say. nil: the table.
	target func() world.Target
	// commits is the fault point before that by which a batch becomes visible, or after it where that is no single step.
	commits string
	remote  bool // the target is reached over a network: a request may be under way after its process has died, and an answer may be lost
	// repeats: rows may come twice whatever delivery says: the query refuses at_most_once. twice: and they do, when a batch runs again.
	repeats, twice bool
	keyed          bool // of the rows of a key, the newest counts
	server         bool // through the adapter for S3, to a server
}

var sinkKinds = []sinkKind{
	{name: "disk", column: "table on local disk", medium: world.Disk, format: "parquet", commits: "commit.put.before"},
	{name: "disk-delta", column: "table on local disk", medium: world.Disk, format: "delta", commits: "commit.put.before"},
	{name: "s3", column: "table on S3", medium: world.Objects, format: "parquet", commits: "commit.put.before"},
	{name: "s3-delta", column: "table on S3", medium: world.Objects, format: "delta", commits: "commit.put.before"},
	{name: "s3-server", column: "table on S3", medium: world.Objects, format: "parquet", commits: "commit.put.before", server: true},
	{name: "postgres", column: "PostgreSQL", medium: world.Disk, format: "parquet", commits: "postgres.before-commit", target: inPostgres(postgres.Config{}), remote: true},
	{name: "postgres-upsert", column: "PostgreSQL", medium: world.Disk, format: "parquet", commits: "postgres.before-commit", target: inPostgres(postgres.Config{Mode: postgres.Upsert, Keys: []string{"part", "key"}, OrderBy: []string{"seq"}}), remote: true, keyed: true},
	{name: "postgres-ledger", column: "PostgreSQL", medium: world.Disk, format: "parquet", commits: "postgres.before-commit", target: inPostgres(postgres.Config{Mode: postgres.Ledger, Keys: []string{"id"}}), remote: true},
	{name: "kafka", column: "Kafka", medium: world.Disk, format: "parquet", commits: "kafka.before-end", target: inKafka(kafka.Transactional), remote: true},
	{name: "kafka-idempotent", column: "Kafka, idempotent", medium: world.Disk, format: "parquet", commits: "commit.before", target: inKafka(kafka.Idempotent), remote: true, repeats: true, twice: true},
	{name: "files", column: "files", medium: world.Disk, format: "parquet", commits: "filestage.before-rename", target: func() world.Target { return world.NewFiles() }},
	{name: "http", column: "http", medium: world.Disk, format: "parquet", commits: "foreachbatch.returned", target: func() world.Target { return world.NewService() }, remote: true, repeats: true},
	{name: "foreachbatch", column: "foreachbatch", medium: world.Disk, format: "parquet", commits: "foreachbatch.called", target: newUserCode},
}

func inPostgres(c postgres.Config) func() world.Target {
	return func() world.Target { return pgmodel.NewTarget(c) }
}

func inKafka(mode kafka.Mode) func() world.Target {
	return func() world.Target { return kafkamodel.NewTarget(mode) }
}

// scenario is a piece of a query's life: a history that goes well, and then the runs in which processes die.
type scenario struct {
	name     string
	bad      bool // some rows are rejected
	evolved  bool // the runs after the history add a column
	stateful bool
	// atMostOnce: batches are recorded before they are committed.
	atMostOnce bool
	ahead      bool                        // back to back, so that the next batch is read while this one commits
	repair     bool                        // the processes that die repair the checkpoint; those that make good repair it, then run the query
	shut       *point                      // the query's context ends when it is about to do this; without a name: to make the batch visible
	sink       lakehouse.Config            // of the table
	history    func(t *testing.T, l *life) // nil: none
	rows       int64                       // produced for the runs; 6 are a batch
	tables     bool                        // is about tables alone
	focus      []string                    // phases whose points are tried in every run of the tests; nil: all
	few        bool                        // of a point that is passed very often, only the first, a middle and the last are tried
}

const batchRows = 6

// scenarios of the matrix.
func scenarios() []scenario {
	upkeep := lakehouse.Config{
		Maintenance:        lakehouse.Maintenance{OptimizeEvery: time.Hour, VacuumRetain: 48 * time.Hour},
		Properties:         map[string]string{"delta.checkpointInterval": "2"},
		AllowReplacedFiles: true,
	}
	return []scenario{
		{name: "first batch", rows: batchRows},
		{name: "ordinary batch", history: batches(2), rows: batchRows},
		{name: "rejected rows", bad: true, history: batches(1), rows: batchRows, focus: []string{"commit", "record"}},
		{name: "pending batch", bad: true, history: pending, rows: batchRows, focus: []string{"start", "record"}},
		{name: "new column", evolved: true, history: batches(1), rows: batchRows, tables: true, focus: []string{"commit"}},
		{name: "state", stateful: true, history: batches(1), rows: batchRows, tables: true, focus: []string{"commit", "record"}},
		{name: "read ahead", ahead: true, history: batches(1), rows: 3 * batchRows, focus: []string{"commit", "record"}},
		{name: "purge", sink: upkeep, history: long, rows: batchRows, few: true, focus: []string{"release"}},
		{name: "upkeep", sink: upkeep, history: aged, rows: batchRows, tables: true, focus: []string{"release"}},
		{name: "repair", repair: true, history: restored, rows: batchRows, tables: true, focus: []string{"repair"}},
		{name: "shutdown while files are written", history: batches(1), shut: &point{"prepare", "at prepare.file.closed"}, rows: batchRows, tables: true, focus: []string{"shutdown"}},
		{name: "shutdown before the commit", bad: true, history: batches(1), shut: &point{"prepare", "at prepare.after"}, rows: batchRows, focus: []string{"shutdown"}},
		{name: "shutdown in the commit", history: batches(1), shut: &point{phase: "commit"}, rows: batchRows, focus: []string{"commit", "record"}},
	}
}

func batches(n int) func(t *testing.T, l *life) {
	return func(t *testing.T, l *life) {
		for range n {
			l.produce(batchRows)
		}
		l.mustFinish(t)
	}
}

// pending is a query that died when its second batch, whose files were staged, was about to be committed.
func pending(t *testing.T, l *life) {
	batches(1)(t, l)
	l.produce(batchRows)
	r := newReaper(l, &death{point: point{"commit", "at commit.before"}, n: 1, power: stays})
	if _, err := l.run(r); !r.dead {
		t.Fatalf("%s, %s: it did not die: %v", l.scenario.name, l.kind.name, err)
	}
	l.end(r)
}

// restored is a query whose checkpoint was restored from an older copy, without the query's id and with a torn entry.
func restored(t *testing.T, l *life) {
	batches(4)(t, l)
	ctx, c := t.Context(), l.Store(world.Checkpoint)
	err := c.Put(ctx, "offsets/1", []byte("v1\n{to"))
	if err == nil {
		err = objstore.Remove(ctx, c, []string{"metadata", "offsets/2", "offsets/3", "commits/1", "commits/2", "commits/3"})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// long is a query with as many batches as the first purge needs, on a table that was tidied up.
func long(t *testing.T, l *life) {
	batches(198)(t, l)
	for range 2 {
		time.Sleep(62 * 24 * time.Hour)
		l.produce(batchRows)
		l.mustFinish(t)
	}
}

// aged is a table with files that optimize has replaced and log entries that may go.
func aged(t *testing.T, l *life) {
	for range 3 {
		l.produce(batchRows)
		l.mustFinish(t)
		time.Sleep(2 * time.Hour) // optimize is due again
	}
	time.Sleep(62 * 24 * time.Hour)
}

// life is what outlives processes.
type life struct {
	*world.World
	scenario *scenario
	kind     sinkKind
	evolving bool
	random   *rand.Rand
	now      func() time.Time       // the wall clock; nil: the bubble's
	bucket   *bucket                // of a server; else nil
	mayLack  map[ident.BatchID]bool // batches that were recorded and not committed when their process died
	began    int                    // how many processes
}

func newLife(t *testing.T, s *scenario, k sinkKind) *life {
	w := world.New(k.medium, 2)
	var b *bucket
	if k.server {
		b = newBucket(t)
		w = world.On(b.stores(t), 2)
	}
	l := &life{World: w, bucket: b, scenario: s, kind: k, mayLack: map[ident.BatchID]bool{}, random: rand.New(rand.NewPCG(7, 7))}
	l.Format = k.format
	if k.target != nil {
		l.WriteTo(k.target())
	}
	if s.bad {
		l.Topic.Bad = func(_ int, offset int64) bool { return offset%3 == 1 }
	}
	return l
}

// clone is a second life that goes on from the same point.
func (l *life) clone(t *testing.T) *life {
	c := *l
	c.mayLack = maps.Clone(l.mayLack)
	if l.bucket == nil {
		c.World = l.World.Clone()
		return &c
	}
	stores := l.bucket.stores(t)
	for place, to := range stores {
		if err := world.Copy(t.Context(), to, l.Store(place)); err != nil {
			t.Fatal(err)
		}
	}
	topic := l.Topic
	c.World = world.On(stores, 2)
	c.Format, c.Topic.Bad, c.Topic.Ends = l.Format, topic.Bad, slices.Clone(topic.Ends)
	return &c
}

// goOn makes the next process do once more what the last one may have done already: there is another batch, and what is due by time is due again.
func (l *life) goOn() {
	l.produce(batchRows)
	if l.replaces() {
		time.Sleep(62 * 24 * time.Hour)
	}
}

// produce appends rows to both partitions, twice as many to the first.
func (l *life) produce(rows int64) {
	l.Topic.Produce(0, rows-rows/3)
	l.Topic.Produce(1, rows/3)
}

// current is the process whose fault points are operations.
var current atomic.Pointer[gate.Process]

// watchFaultPoints makes every fault point an operation of the current process.
func watchFaultPoints(t *testing.T) {
	for name := range sourcecode.FaultPoints(t, root) {
		if strings.HasPrefix(name, "localfs.") || strings.HasPrefix(name, "s3.") {
			continue // these are inside an operation, where deaths are tried change by change
		}
		t.Cleanup(failpoint.Set(name, func(int) error {
			if p := current.Load(); p != nil {
				_ = p.Do(context.Background(), faultPoint, "at", name, func() error { return nil }) // a process that is gone finds out at its next operation
			}
			return nil
		}))
	}
}

// run is one process, from its start to its end. found is what its recovery decided.
func (l *life) run(r *reaper) (found string, err error) {
	l.began++
	r.process = "p" + strconv.Itoa(l.began)
	p := gate.NewProcess(r.process, r)
	current.Store(p)
	defer current.Store(nil)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.cancel = cancel
	defer p.Kill()
	if r.repairs != never {
		r.phase = "repair"
		err := l.query(p).Repair(ctx, engine.Repair{Step: func(string) {}})
		if err != nil || r.repairs == only {
			return "", err
		}
		r.phase = "start"
	}
	q := l.query(p)
	q.Listener.Started = func(s engine.Started) {
		if found == "" {
			found = findingOf(s)
			r.recovered()
		}
		if r.struck {
			r.restarted = findingOf(s)
		}
	}
	err = q.Run(ctx)
	return found, err
}

// findingOf is what Started says in a word.
func findingOf(s engine.Started) string {
	switch {
	case s.Fresh:
		return "fresh"
	case strings.Contains(s.Plan, "visible"):
		return "visible"
	case strings.Contains(s.Plan, "again"):
		return "rerun"
	}
	return "next"
}

// end is what is left when the process has ended, on its machine and on the way.
func (l *life) end(r *reaper) {
	l.Fault(nil)
	if l.Target() != nil {
		l.Target().Gone(r.process)
	}
	if r.at == nil || l.Medium() == world.Objects {
		return
	}
	if r.at.power == stays {
		l.Kill()
		return
	}
	l.PowerLoss(l.random, int(r.at.power))
}

// mustFinish runs a process that nothing happens to.
func (l *life) mustFinish(t *testing.T) {
	t.Helper()
	r := newReaper(l, nil)
	if _, err := l.run(r); err != nil {
		t.Fatalf("%s, %s: without a death: %v", l.scenario.name, l.kind.name, err)
	}
	l.end(r)
}

func (l *life) query(p *gate.Process) engine.Query {
	q := l.Query(p)
	q.Trigger, q.Limit.Rows = engine.Trigger{Once: true, MinPause: time.Nanosecond}, batchRows
	if l.scenario.atMostOnce {
		q.Delivery = engine.AtMostOnce
	}
	if l.scenario.ahead {
		q.Trigger.MinPause = 0
	}
	if !l.scenario.bad {
		q.OnError, q.Rejected = engine.FailQuery, nil
	}
	q.ShutdownTimeout = time.Millisecond
	q.Transforms = []transforms.Operator{tap{p: p, extra: l.evolving, stateful: l.scenario.stateful}}
	q.Now = l.now
	if l.Target() == nil {
		c := l.scenario.sink
		c.SchemaEvolution, c.Now = lakehouse.AddColumns, l.now
		q.Sink = l.Sink(p, world.Table, c)
	}
	return q
}

// tap passes rows on, chunk by chunk as operations of the process, with a column more if it is told to.
type tap struct {
	p               *gate.Process
	extra, stateful bool
}

func (o tap) Stateful() bool { return o.stateful }
func (o tap) Describe() ident.Description {
	return ident.Description{Kind: "tap", Name: "tap", Evolution: map[string]any{"extra": o.extra}}
}
func (o tap) Output(in *arrow.Schema) (*arrow.Schema, error) {
	if !o.extra {
		return in, nil
	}
	return arrow.NewSchema(append(slices.Clone(in.Fields()), arrow.Field{Name: "extra", Type: arrow.PrimitiveTypes.Int64, Nullable: true}), nil), nil
}
func (tap) Requires() transforms.Distribution { return transforms.Distribution{} }
func (tap) Guarantee() guarantee.Link         { return guarantee.Link{Name: "tap"} }
func (o tap) Open(_ context.Context, env transforms.Env) (transforms.Instance, error) {
	out, err := o.Output(env.Input)
	return &tapping{tap: o, out: out}, err
}

type tapping struct {
	tap
	out  *arrow.Schema
	rows atomic.Int64
}

func (i *tapping) Apply(ctx context.Context, in batch.Stream) batch.Stream {
	return func(yield func(batch.Chunk, error) bool) {
		for c, err := range in {
			if err == nil {
				err = i.p.Do(ctx, "transform", "apply", "", func() error { return nil })
			}
			if err != nil {
				c.Release()
				yield(batch.Chunk{}, err)
				return
			}
			i.rows.Add(c.Rows())
			if i.extra {
				wide := array.NewRecordBatch(i.out, append(slices.Clone(c.Record.Columns()), c.Record.Column(2)), c.Record.NumRows())
				c.Record.Release()
				c.Record = wide
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}
func (i *tapping) Counts() transforms.Counts {
	return transforms.Counts{In: i.rows.Load(), Out: i.rows.Load()}
}
func (*tapping) Close() error { return nil }
