//go:build failpoints

package crashtest

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"microbatch/checker"
	"microbatch/sinks/lakehouse"
)

// TestReplacing lets processes of queries that match their rows with those of the table die at each operation, as the matrix does, and checks that the table holds of
// each key the row that counts, once: the newest, or for an append that drops what is known the oldest.
func TestReplacing(t *testing.T) {
	upsert := lakehouse.Config{AllowReplacedFiles: true, Merge: lakehouse.Merge{Mode: lakehouse.Upsert, Keys: []string{"part", "key"}, OrderBy: []string{"seq"}}}
	inOrder := lakehouse.Config{AllowReplacedFiles: true, Merge: lakehouse.Merge{Mode: lakehouse.Upsert, Keys: []string{"part", "key"}}}
	partitioned := upsert
	partitioned.PartitionBy, partitioned.Properties = []string{"key"}, map[string]string{"delta.checkpointInterval": "2"}
	upkeep := upsert
	upkeep.Maintenance = lakehouse.Maintenance{OptimizeEvery: time.Hour, VacuumRetain: 48 * time.Hour}
	known := lakehouse.Config{Merge: lakehouse.Merge{DeduplicateBy: []string{"part", "key"}}}
	all := []scenario{
		{name: "upsert, first batch", sink: upsert, rows: batchRows},
		{name: "upsert, ordinary batch", sink: upsert, history: batches(3), rows: batchRows},
		{name: "upsert in the order of the source", sink: inOrder, history: batches(2), rows: batchRows},
		{name: "upsert, partitions", sink: partitioned, bad: true, history: batches(3), rows: batchRows},
		{name: "upsert, pending batch", sink: upsert, bad: true, history: pending, rows: batchRows},
		{name: "upsert, read ahead", sink: upsert, ahead: true, history: batches(1), rows: 2 * batchRows},
		{name: "upsert, new column", sink: upsert, evolved: true, history: batches(2), rows: batchRows},
		{name: "upsert, upkeep", sink: upkeep, history: aged, rows: batchRows},
		{name: "append what is new", sink: known, history: batches(1), rows: 2 * batchRows},
	}
	m := &matrix{}
	m.sweepKinds(t, func(k sinkKind) []scenario {
		if k.server || k.target != nil {
			return nil
		}
		return all
	})
	t.Logf("%d deaths", len(m.results))
}

// expect is what the topic comes to in the table, or the target: of its rows, whose ids are partition and order, those that count for their keys. A key has its rows in one partition, where orders rise.
func (l *life) expect(from, to []string) (checker.Expect, error) {
	e, err := l.Topic.Expect(from, to)
	merge := l.scenario.sink.Merge
	newest := merge.Mode == lakehouse.Upsert || l.kind.keyed
	if err != nil || !newest && len(merge.DeduplicateBy) == 0 {
		return e, err
	}
	whole, err := l.Topic.Expect(nil, to)
	if err != nil {
		return e, err
	}
	counts := map[string]string{} // by key
	for _, id := range whole.Out {
		part, seq, _ := strings.Cut(id, "-")
		n, err := strconv.Atoi(seq)
		if err != nil {
			return e, err
		}
		key := part + "/" + strconv.Itoa(n%4)
		if _, ok := counts[key]; !ok || newest {
			counts[key] = id
		}
	}
	out := e.Out[:0]
	for _, id := range e.Out {
		part, seq, _ := strings.Cut(id, "-")
		if n, _ := strconv.Atoi(seq); counts[part+"/"+strconv.Itoa(n%4)] == id {
			out = append(out, id)
		}
	}
	e.Out = out
	return e, nil
}
