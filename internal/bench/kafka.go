package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"microbatch/internal/bench/report"
)

// kafka is the source of a topic.
func kafka(addr, topic string) string {
	return fmt.Sprintf("kafka: {brokers: [%q], topics: [%s]}", addr, topic)
}

// measureKafka takes rows from a real broker to a Delta table, and what fetching, decoding and encoding them cost alone. The broker's processor time is not
// counted, but it takes part of the same processors, on both sides.
func measureKafka(ctx context.Context, b *bench) ([]report.Samples, error) {
	rows := b.rows
	addr, topic, err := b.topic(ctx, rows)
	if err != nil {
		return nil, err
	}
	var roof, fetch, whole, perCPU, peak report.Samples
	for round := range b.rounds {
		u, done, err := b.kafkaToDelta(ctx, addr, topic, "kafka-out", rows, "")
		if err != nil {
			return nil, err
		}
		bare, err := b.bareKafka(ctx, addr, topic, rows)
		if err != nil {
			return nil, err
		}
		rate := float64(rows) / steady(done)
		b.say("  round %d: %.0f rows/s; %.0f rows/CPU s; bare: %s", round+1, rate, float64(rows)/u.cpu.Seconds(), bare)
		roof.Add(rate, float64(rows)/(bare.Fetch+bare.Decode+bare.Encode))
		fetch.Add(rate, float64(rows)/bare.Raw)
		whole.Ours = append(whole.Ours, float64(rows)/u.wall.Seconds())
		perCPU.Add(float64(rows)/u.cpu.Seconds(), float64(rows)/bare.CPU)
		peak.Ours = append(peak.Ours, float64(u.peak)/1e6)
	}
	return []report.Samples{roof, fetch, perCPU, whole, peak}, b.removeAll("kafka-out")
}

// kafkaToDelta runs the program on a topic, into a fresh folder of a name.
func (b *bench) kafkaToDelta(ctx context.Context, addr, topic, name string, rows int, trigger string) (usage, []progress, error) {
	dir, err := b.fresh(name)
	if err != nil {
		return usage{}, nil, err
	}
	p := pipeline{source: kafka(addr, topic), format: "json", schema: eventsDDL, table: dir + "/table", sink: "format: delta", trigger: trigger}
	return b.start(ctx, dir, p, int64(rows))
}

// steady is the time from the begin of the first batch to the end of the last, in seconds.
func steady(batches []progress) float64 {
	first, last := batches[0], batches[len(batches)-1]
	return last.Timestamp.Sub(first.Timestamp).Seconds() + last.total()/1000
}

// bareKafka runs the bare steps in a process of their own.
func (b *bench) bareKafka(ctx context.Context, addr, topic string, rows int) (bareTimes, error) {
	dir, err := b.fresh("bare")
	if err != nil {
		return bareTimes{}, err
	}
	u, err := b.child(ctx, dir, b.self, bareKafkaCommand, addr, topic, strconv.Itoa(rows))
	if err != nil {
		return bareTimes{}, err
	}
	var t bareTimes
	if err := json.Unmarshal(u.stdout, &t); err != nil {
		return t, fmt.Errorf("%s: %w", bareKafkaCommand, err)
	}
	return t, b.removeAll("bare")
}
