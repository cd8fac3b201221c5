//go:build services

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/internal/services"
)

// relay is a pipeline from a topic to a topic, on one broker: rows with an id and a key, in order by key, in batches of a few.
type relay struct {
	t       *testing.T
	client  *kgo.Client
	admin   *kadm.Client
	dir     string
	file    string
	in, out string
	fed     int
}

// newRelay makes the topics and the pipeline file.
func newRelay(t *testing.T, broker, name string) *relay {
	t.Helper()
	name = strings.Map(func(r rune) rune {
		if r == ' ' || r == '/' {
			return '-'
		}
		return r
	}, name)
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	r := &relay{t: t, client: client, admin: kadm.NewClient(client), dir: t.TempDir(), in: "in-" + name, out: "out-" + name}
	createTopic(t, broker, r.in, 2)
	createTopic(t, broker, r.out, 3)
	r.file = write(t, r.dir, "p.yaml", `name: relay
source:
  kafka: {brokers: ["`+broker+`"], topics: [`+r.in+`]}
  format: json
  schema: id BIGINT, k STRING
sink:
  kafka: {brokers: ["`+broker+`"], topic: `+r.out+`, key: k, commit_group: done-`+name+`}
on_error: fail
checkpoint: checkpoint
trigger: {max_rows: 20}
`)
	return r
}

// feed adds n rows to the input; all of a key are in one partition.
func (r *relay) feed(n int) {
	r.t.Helper()
	var records []*kgo.Record
	for range n {
		key := r.fed % 10
		records = append(records, &kgo.Record{Topic: r.in, Partition: int32(key % 2), Value: fmt.Appendf(nil, `{"id":%d,"k":"k%d"}`, r.fed, key)})
		r.fed++
	}
	if err := r.client.ProduceSync(r.t.Context(), records...).FirstErr(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *relay) start(env ...string) *child { return start(r.t, env, r.file) }

func (r *relay) finish() {
	r.t.Helper()
	if code, out := exitOf(r.t, "start", r.file, "--once"); code != 0 {
		r.t.Fatalf("the last run: exit code %d: %s", code, out)
	}
}

// exact says that a reader of committed records sees each row once, those of a key in order, and that the group is where the source ends.
func (r *relay) exact() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	ends, err := r.admin.ListCommittedOffsets(ctx, r.out)
	for err == nil { // the broker answers the end of a transaction before readers see it
		var all kadm.ListedOffsets
		if all, err = r.admin.ListEndOffsets(ctx, r.out); err != nil || fmt.Sprint(all) == fmt.Sprint(ends) {
			break
		}
		ends, err = r.admin.ListCommittedOffsets(ctx, r.out)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	left, from := map[int32]int64{}, map[int32]kgo.Offset{}
	ends.Each(func(o kadm.ListedOffset) {
		if from[o.Partition] = kgo.NewOffset().At(0); o.Offset > 0 {
			left[o.Partition] = o.Offset
		}
	})
	reader, err := kgo.NewClient(kgo.SeedBrokers(r.client.OptValue(kgo.SeedBrokers).([]string)...), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{r.out: from}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		r.t.Fatal(err)
	}
	defer reader.Close()
	seen, last := map[int]int{}, map[string]int{}
	for len(left) > 0 && ctx.Err() == nil {
		reader.PollFetches(ctx).EachRecord(func(record *kgo.Record) {
			if end, ok := left[record.Partition]; ok && record.Offset+1 >= end {
				delete(left, record.Partition)
			}
			if record.Attrs.IsControl() {
				return
			}
			var row struct {
				ID int
				K  string
			}
			if err := json.Unmarshal(record.Value, &row); err != nil || string(record.Key) != row.K {
				r.t.Fatalf("%s=%s: %v", record.Key, record.Value, err)
			}
			if before, ok := last[row.K]; ok && before >= row.ID {
				r.t.Errorf("key %s: row %d comes after %d", row.K, row.ID, before)
			}
			last[row.K] = row.ID
			seen[row.ID]++
		})
	}
	if len(left) > 0 {
		r.t.Fatalf("not read: %v", left)
	}
	missing, double := 0, 0
	for id := range r.fed {
		switch n := seen[id]; {
		case n == 0:
			missing++
		case n > 1:
			double++
		}
	}
	if missing+double > 0 || len(seen) != r.fed {
		r.t.Errorf("of %d rows %d are missing and %d came more than once; %d ids in all", r.fed, missing, double, len(seen))
	}
	done, err := r.admin.FetchOffsets(ctx, strings.Replace(r.out, "out-", "done-", 1))
	if err != nil {
		r.t.Fatal(err)
	}
	input, err := r.admin.ListEndOffsets(ctx, r.in)
	if err != nil {
		r.t.Fatal(err)
	}
	input.Each(func(o kadm.ListedOffset) {
		if got, _ := done.Lookup(r.in, o.Partition); got.At != o.Offset {
			r.t.Errorf("the group is at %d of partition %d, which ends at %d", got.At, o.Partition, o.Offset)
		}
	})
}

// killedAt runs the query to its end with a kill at the hit of a point; false if it was not passed so often.
func (r *relay) killedAt(point string, hit int) bool {
	r.t.Helper()
	c := start(r.t, []string{fmt.Sprintf("MICROBATCH_FAILPOINT=%s:kill:%d", point, hit)}, r.file, "--once")
	switch code := c.exit(); code {
	case -1:
		return true
	case 0:
		return false
	default:
		r.t.Fatalf("to be killed at %s: exit code %d: %s", point, code, c.stderr.String())
	}
	return false
}

// kafkaPoints are the sink's own points, and those of the engine around its commit.
func kafkaPoints(t *testing.T) (out []string) {
	for _, point := range points(t) {
		if strings.HasPrefix(point, "kafka.") {
			out = append(out, point)
		}
	}
	return append(out, "intend.after", "transform.chunk", "prepare.after", "commit.before", "commit.after", "record.after", "start.claimed")
}

// TestKafkaToKafkaKilledAtEachPoint kills the program in the middle of its work, then its recovery at the same point as often as it gets there, up to twice.
func TestKafkaToKafkaKilledAtEachPoint(t *testing.T) {
	broker := services.Kafka(t, services.KafkaOptions{})
	for _, point := range kafkaPoints(t) {
		t.Run(point, func(t *testing.T) {
			r := newRelay(t, broker.Addr, point)
			r.feed(100)
			kills := 0
			for _, hit := range []int{3, 1} { // in the middle, or at the only one
				if kills == 0 && r.killedAt(point, hit) {
					kills++
				}
			}
			if kills == 0 {
				t.Fatal("the point is not passed")
			}
			for kills < 3 && r.killedAt(point, 1) {
				kills++
			}
			t.Logf("%d kills", kills)
			r.feed(30)
			r.finish()
			r.exact()
		})
	}
}

// TestKafkaToKafkaSurvivesRandomKills kills it at random moments while rows keep coming.
func TestKafkaToKafkaSurvivesRandomKills(t *testing.T) {
	broker := services.Kafka(t, services.KafkaOptions{})
	r := newRelay(t, broker.Addr, "random")
	k := killing{file: r.file, kills: 12, rng: newRand(t), feed: func() { r.feed(400) }}
	if n := k.run(t); n == 0 {
		t.Error("no kill between commit and record")
	}
	r.finish()
	r.exact()
}

// TestAKafkaDriverThatWakesUpAfterItsSuccessor stops a driver in the middle of a batch, and lets its successor go on; the one that wakes up must stop, and leave the
// successor alone.
func TestAKafkaDriverThatWakesUpAfterItsSuccessor(t *testing.T) {
	broker := services.Kafka(t, services.KafkaOptions{})
	for _, stop := range []string{"kafka.before-init:stop:1", "kafka.after-init:stop:1", "kafka.produced:stop:3", "kafka.before-end:stop:3", "kafka.after-end:stop:3", "commit.before:stop:3", "commit.after:stop:3"} {
		point, _, _ := strings.Cut(stop, ":")
		t.Run(point, func(t *testing.T) {
			r := newRelay(t, broker.Addr, "zombie-"+point)
			r.feed(100)
			zombie := r.start("MICROBATCH_FAILPOINT=" + stop)
			waitStopped(t, zombie.cmd.Process.Pid)
			loseLock(t, filepath.Join(r.dir, "checkpoint/_engine"))
			successor := r.start()
			if !successor.batch(time.Minute) {
				t.Fatalf("the successor: %s", successor.stderr.String())
			}
			if err := zombie.cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			r.feed(100)
			if code := zombie.exit(); code != 4 || !strings.Contains(zombie.stderr.String(), "MB1112") && !strings.Contains(zombie.stderr.String(), "MB5107") {
				t.Errorf("the zombie: exit code %d: %s", code, zombie.stderr.String())
			}
			r.feed(30)
			if err := successor.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if code := successor.exit(); code != 0 {
				t.Errorf("the successor: exit code %d: %s", code, successor.stderr.String())
			}
			r.finish()
			r.exact()
		})
	}
}
