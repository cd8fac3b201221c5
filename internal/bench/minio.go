package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"microbatch/internal/bench/report"
	"microbatch/internal/secret"
	"microbatch/internal/services"
	"microbatch/objstore/s3"
)

// roundTrips are the puts of a batch that have to wait for each other: intent, data, commit, record.
const roundTrips = 4

// measureMinIO times small batches from Kafka to a Delta table on MinIO, and bare puts of the same kind that a batch waits for.
func measureMinIO(ctx context.Context, b *bench) ([]report.Samples, error) {
	batches := b.size(200, 12)
	addr, topic, err := b.topic(ctx, smallRows*batches)
	if err != nil {
		return nil, err
	}
	var beyond, share, mean report.Samples
	for range b.rounds {
		server, bucket, err := b.bucket(ctx)
		if err != nil {
			return nil, err
		}
		done, err := b.minioBatches(ctx, server, bucket, addr, topic, batches)
		if err != nil {
			return nil, err
		}
		bare, err := barePuts(ctx, server, bucket, batches)
		if err != nil {
			return nil, err
		}
		ms := report.Median(totals(done))
		b.say("  ours %.2f ms, %d bare puts %.2f ms", ms, roundTrips, roundTrips*bare)
		beyond.Add(ms, roundTrips*bare)
		share.Ours = append(share.Ours, 100*roundTrips*bare/ms)
		mean.Ours = append(mean.Ours, apart(done))
	}
	return []report.Samples{beyond, mean, share}, b.removeAll("minio")
}

// minioBatches are the batches of a run, without the first, which makes the table.
func (b *bench) minioBatches(ctx context.Context, server services.S3Server, bucket, addr, topic string, batches int) ([]progress, error) {
	dir, err := b.fresh("minio")
	if err != nil {
		return nil, err
	}
	p := pipeline{
		source: kafka(addr, topic), format: "json", schema: eventsDDL, sink: "format: delta", trigger: fmt.Sprintf("max_rows: %d", smallRows),
		table: "s3://" + bucket + "/table", checkpoint: "s3://" + bucket + "/checkpoint",
		more: fmt.Sprintf("s3: {endpoint: %q, access_key: env:BENCH_ACCESS_KEY, secret_key: env:BENCH_SECRET_KEY}\n", server.Endpoint),
	}
	_, done, err := b.start(ctx, dir, p, int64(smallRows*batches))
	if err != nil {
		return nil, err
	}
	if len(done) < 2 {
		return nil, fmt.Errorf("%d batches", len(done))
	}
	return done[1:], nil
}

// barePuts is the median time of a put-if-absent of 2 KB, in milliseconds.
func barePuts(ctx context.Context, server services.S3Server, bucket string, puts int) (float64, error) {
	store, err := s3.New(ctx, s3.Config{
		Bucket: bucket, Prefix: "bare", Endpoint: server.Endpoint, Region: server.Region, PathStyle: true,
		AccessKey: secret.Of(server.AccessKey), SecretKey: secret.Of(server.SecretKey),
	})
	if err != nil {
		return 0, err
	}
	content := bytes.Repeat([]byte("x"), 2048)
	var ms []float64
	for i := range puts {
		begin := time.Now()
		if err := store.PutIfAbsent(ctx, fmt.Sprintf("%06d", i), content); err != nil {
			return 0, err
		}
		ms = append(ms, float64(time.Since(begin).Microseconds())/1000)
	}
	return report.Median(ms), nil
}
