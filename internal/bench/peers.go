package main

import (
	"context"
	"fmt"

	"microbatch/internal/bench/report"
)

// sparkWorkloads are those whose peer is Spark.
func sparkWorkloads() []workload {
	return []workload{
		{peers: true, measure: measureSparkKafka, Section: report.Section{Name: "Against Spark: Kafka to Delta table", Group: "Against Spark",
			About: "JSON of 200 bytes, 8 columns, 4 partitions to a Delta table by PySpark 4.2 with Delta 4.4, `local[2]`, at its best `maxOffsetsPerTrigger`. Whole runs without the start of the JVM; warm: a second run in the same JVM, against our whole run. " +
				"Then the same rows in 40 NDJSON files to format `parquet`, against Spark's file source and file sink, at its best `maxFilesPerTrigger`; and batches of 1,000 rows from Kafka to Delta, " +
				"both on local disk: the median time of a whole batch, without the first ten.",
			Rows: []report.Row{
				{Name: "Spark, Kafka to delta", Unit: "rows/CPU s", Ratio: report.OursByPeer, Required: report.AtLeast(15), Aim: report.AtLeast(25), Chart: "spark", Label: "Kafka to delta, processor time"},
				{Name: "Spark, Kafka to delta, warm", Unit: "rows/CPU s", Ratio: report.OursByPeer, Required: report.AtLeast(15), Aim: report.AtLeast(25), Chart: "spark", Label: "the same, Spark warm"},
				{Name: "Spark, Kafka to delta, rows", Unit: "rows/s", Ratio: report.OursByPeer},
				{Name: "Spark, Kafka to delta, peak memory", Unit: "MB", Ratio: report.OursByPeer, Required: report.AtMost(0.15), Aim: report.AtMost(0.08)},
			}}},
		{peers: true, measure: measureSparkFiles, Section: report.Section{Name: "Against Spark: NDJSON files to Parquet", Group: "Against Spark",
			Rows: []report.Row{
				{Name: "Spark, files to parquet", Unit: "rows/CPU s", Ratio: report.OursByPeer, Required: report.AtLeast(12), Aim: report.AtLeast(20), Chart: "spark", Label: "files to parquet, processor time"},
				{Name: "Spark, files to parquet, warm", Unit: "rows/CPU s", Ratio: report.OursByPeer},
				{Name: "Spark, files to parquet, rows", Unit: "rows/s", Ratio: report.OursByPeer},
				{Name: "Spark, files to parquet, peak memory", Unit: "MB", Ratio: report.OursByPeer},
			}}},
		{peers: true, measure: measureSparkSmall, Section: report.Section{Name: "Against Spark: small batches", Group: "Against Spark",
			Rows: []report.Row{
				{Name: "Spark, 1,000-row batch", Unit: "ms", Ratio: report.PeerByOurs, Required: report.AtLeast(50), Aim: report.AtLeast(150), Chart: "spark", Label: "1,000-row batch, time"},
			}}},
	}
}

func measureSparkKafka(ctx context.Context, b *bench) ([]report.Samples, error) {
	rows := b.rows
	addr, topic, err := b.topic(ctx, rows)
	if err != nil {
		return nil, err
	}
	job := sparkJob{Broker: addr, Topic: topic, Schema: eventsDDL, Format: "delta"}
	return b.againstSpark(ctx, job, rows, []int{rows / 4, rows / 10, rows}, func() (usage, []progress, error) {
		return b.kafkaToDelta(ctx, addr, topic, "spark-ours", rows, "")
	})
}

// splitFiles is in how many files the rows are, for Spark to have some for each of its cores.
const splitFiles = 40

func measureSparkFiles(ctx context.Context, b *bench) ([]report.Samples, error) {
	rows := b.rows
	from, err := b.splitEvents(rows, splitFiles)
	if err != nil {
		return nil, err
	}
	job := sparkJob{Folder: from, Schema: eventsDDL, Format: "parquet"}
	return b.againstSpark(ctx, job, rows, []int{10, 4, splitFiles}, func() (usage, []progress, error) {
		dir, err := b.fresh("spark-ours")
		if err != nil {
			return usage{}, nil, err
		}
		p := pipeline{source: files(from), format: "json", schema: eventsDDL, table: dir + "/table", sink: "format: parquet"}
		return b.start(ctx, dir, p, int64(rows))
	})
}

// againstSpark finds Spark's best limit, and takes rounds of both sides in turns.
func (b *bench) againstSpark(ctx context.Context, job sparkJob, rows int, limits []int, ours func() (usage, []progress, error)) ([]report.Samples, error) {
	limit, note, err := b.tune(ctx, job, rows, limits)
	if err != nil {
		return nil, err
	}
	out, err := b.fresh("spark-out")
	if err != nil {
		return nil, err
	}
	cold, warm, rate, peak := report.Samples{Note: note}, report.Samples{}, report.Samples{}, report.Samples{}
	for round := range b.rounds {
		u, done, err := ours()
		if err != nil {
			return nil, err
		}
		job.Runs = []sparkRun{{Out: fmt.Sprintf("%s/%d-cold", out, round), Limit: limit}, {Out: fmt.Sprintf("%s/%d-warm", out, round), Limit: limit}}
		took, err := b.sparkRound(ctx, job, rows, round)
		if err != nil {
			return nil, err
		}
		n := float64(rows)
		b.say("  round %d: ours %.0f rows/CPU s, Spark %.0f, warm %.0f", round+1, n/u.cpu.Seconds(), n/took[0].CPU, n/took[1].CPU)
		cold.Add(n/u.cpu.Seconds(), n/took[0].CPU)
		warm.Add(n/u.cpu.Seconds(), n/took[1].CPU)
		rate.Add(n/steady(done), n/took[1].Seconds)
		peak.Add(float64(u.peak)/1e6, float64(took[1].Peak)/1e6)
	}
	return []report.Samples{cold, warm, rate, peak}, b.removeAll("spark-ours", "spark-out", "spark-work")
}

// sparkRound is Spark's side of a round. What both sides have written in the first is compared.
func (b *bench) sparkRound(ctx context.Context, job sparkJob, rows, round int) ([]sparkTook, error) {
	took, err := b.spark(ctx, job, rows)
	if err == nil && round == 0 {
		err = sameRows(ctx, eventsHash, b.dir+"/spark-ours/table/part-*.parquet", job.Runs[0].Out+"/part-*.parquet")
	}
	return took, err
}

// warmBatches are left out of small batches.
const warmBatches = 10

func measureSparkSmall(ctx context.Context, b *bench) ([]report.Samples, error) {
	rows := smallRows * b.size(100, 15)
	addr, topic, err := b.topic(ctx, rows)
	if err != nil {
		return nil, err
	}
	out, err := b.fresh("spark-out")
	if err != nil {
		return nil, err
	}
	var p50 report.Samples
	for round := range b.rounds {
		_, done, err := b.kafkaToDelta(ctx, addr, topic, "spark-ours", rows, fmt.Sprintf("max_rows: %d", smallRows))
		if err != nil {
			return nil, err
		}
		job := sparkJob{Broker: addr, Topic: topic, Schema: eventsDDL, Format: "delta", Runs: []sparkRun{{Out: fmt.Sprintf("%s/%d", out, round), Limit: smallRows}}}
		took, err := b.sparkRound(ctx, job, rows, round)
		if err != nil {
			return nil, err
		}
		var theirs []float64
		for _, batch := range took[0].Batches {
			theirs = append(theirs, batch.Ms)
		}
		if len(done) <= warmBatches || len(theirs) <= warmBatches {
			return nil, fmt.Errorf("%d batches of ours, %d of Spark's", len(done), len(theirs))
		}
		p50.Add(report.Median(totals(done)[warmBatches:]), report.Median(theirs[warmBatches:]))
		b.say("  round %d: ours %.2f ms, Spark %.0f ms", round+1, p50.Ours[round], p50.Peer[round])
	}
	return []report.Samples{p50}, b.removeAll("spark-ours", "spark-out", "spark-work")
}
