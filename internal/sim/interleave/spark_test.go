package interleave_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/uuid"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/sim/interleave"
	"microbatch/internal/sim/world"
	"microbatch/table/action"
	"microbatch/table/datafile"
)

// sparkScenes are about Spark Structured Streaming on our checkpoint and table.
func sparkScenes() []scene {
	return []scene{
		{"Spark finishes our pending batch, and we go on", both, func(s *interleave.Stage) {
			s.World.Format = "delta"
			s.World.Topic.Produce(0, 5)
			s.Start("a").DiesAfter("checkpoint putifabsent offsets/1")
			spark := sparkOf(s)
			spark.addBatch(2, 1, 2, 4) // [2, 4) of our offsets/1
			spark.commitLog(1)
			s.Start("b").Ends()
			s.ExactRows()
		}},
		{"Spark commits our pending batch and dies before it records it: we record it", both, func(s *interleave.Stage) {
			s.World.Format = "delta"
			s.World.Topic.Produce(0, 5)
			s.Start("a").DiesAfter("checkpoint putifabsent offsets/1")
			sparkOf(s).addBatch(2, 1, 2, 4)
			b := s.Start("b")
			b.Past("checkpoint putifabsent commits/1")
			b.Ends()
			s.ExactRows()
		}},
		{"Spark takes over while our zombie sleeps before it fixes a batch", both, func(s *interleave.Stage) {
			s.World.Format = "delta"
			s.World.Topic.Produce(0, 5)
			zombie := s.Start("zombie", lockLost)
			zombie.Until("checkpoint putifabsent offsets/1")
			spark := sparkOf(s)
			spark.offsets(1, 3)
			spark.addBatch(2, 1, 2, 3)
			spark.commitLog(1)
			zombie.Ends(errcode.ForeignDriver)
			s.ExactRowsUpTo(3)
			s.Start("b", lockLost).Ends()
			s.ExactRows()
		}},
		{"Spark takes over while our zombie sleeps before its commit", both, func(s *interleave.Stage) {
			s.World.Format = "delta"
			s.World.Topic.Produce(0, 5)
			zombie := s.Start("zombie", lockLost)
			zombie.Past("checkpoint putifabsent offsets/1")
			zombie.Until(deltaPut)
			spark := sparkOf(s)
			spark.addBatch(2, 1, 2, 4) // it runs our batch again
			spark.commitLog(1)
			spark.offsets(2, 5)
			spark.addBatch(3, 2, 4, 5)
			spark.commitLog(2)
			zombie.Ends(errcode.TableForeignBatch, errcode.TableAhead)
			s.ExactRows()
			s.World.Topic.Produce(0, 2)
			s.Start("b", lockLost).Ends()
			s.ExactRows()
		}},
	}
}

const deltaPut = "table putifabsent _delta_log/*.json"

// spark writes what Spark's MicroBatchExecution and Delta's sink write: no epoch, no digest, no entry id.
type spark struct {
	*interleave.Stage
	query string
}

func sparkOf(s *interleave.Stage) spark {
	data, err := s.World.Store(world.Checkpoint).Get(context.Background(), "metadata")
	s.Must(err)
	var m struct{ ID string }
	s.Must(json.Unmarshal(data, &m))
	return spark{s, m.ID}
}

// offsets is OffsetSeqLog.add.
func (s spark) offsets(batch int, end int64) {
	text := fmt.Sprintf("v1\n"+`{"batchWatermarkMs":0,"batchTimestampMs":946684800000,"conf":{"spark.sql.shuffle.partitions":"5"}}`+"\n[%d]", end)
	s.Must(s.World.Store(world.Checkpoint).PutIfAbsent(context.Background(), fmt.Sprintf("offsets/%d", batch), []byte(text)))
}

// commitLog is CommitLog.add.
func (s spark) commitLog(batch int) {
	s.Must(s.World.Store(world.Checkpoint).PutIfAbsent(context.Background(), fmt.Sprintf("commits/%d", batch), []byte("v1\n"+`{"nextBatchWatermarkMs":0}`)))
}

// addBatch is DeltaSink.addBatch: the rows [from, to) of the partition become a file, and a version of the table.
func (s spark) addBatch(version, batch int, from, to int64) {
	ctx, store := context.Background(), s.World.Store(world.Table)
	b := array.NewRecordBuilder(memory.DefaultAllocator, world.RowSchema())
	for n := from; n < to; n++ {
		b.Field(0).(*array.StringBuilder).Append(world.RowID(0, n))
		b.Field(1).(*array.Int32Builder).Append(0)
		b.Field(2).(*array.Int64Builder).Append(n)
		b.Field(3).(*array.StringBuilder).Append("k")
	}
	options, err := datafile.Parquet("snappy", "plain")
	s.Must(err)
	stage := datafile.NewStage(store, datafile.Spec{Name: datafile.Name{Prefix: "spark", Attempt: ident.NewAttempt()}, Schema: world.RowSchema(), Parquet: options})
	s.Must(stage.Write(ctx, b.NewRecordBatch()))
	adds, err := stage.Finish(ctx)
	s.Must(err)
	add, err := action.Encode([]action.Action{{Add: adds[0]}})
	s.Must(err)
	lines := []string{
		fmt.Sprintf(`{"commitInfo":{"timestamp":946684800000,"operation":"STREAMING UPDATE","operationParameters":{"outputMode":"Append","queryId":"%s","epochId":"%d"},`+
			`"readVersion":%d,"isolationLevel":"Serializable","isBlindAppend":true,"operationMetrics":{},"engineInfo":"Apache-Spark/4.2.0 Delta-Lake/4.4.0","txnId":"%s"}}`,
			s.query, batch, version-1, uuid.NewString()),
		fmt.Sprintf(`{"txn":{"appId":"%s","version":%d,"lastUpdated":946684800000}}`, s.query, batch),
		string(add),
	}
	s.Must(store.PutIfAbsent(ctx, fmt.Sprintf("_delta_log/%020d.json", version), []byte(strings.Join(lines, "\n"))))
}
