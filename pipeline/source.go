package pipeline

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/pipeline/config"
	"microbatch/schema"
	"microbatch/sources"
	"microbatch/sources/files"
	"microbatch/sources/kafka"
	"microbatch/sources/orders"
	"microbatch/sources/rate"
)

// source is the one switch over the kinds of sources.
func (b builder) source(ctx context.Context) (sources.Source, error) {
	declared, err := b.declaredSchema()
	if err != nil {
		return nil, err
	}
	switch s := b.c.Source; {
	case s.Kafka != nil:
		return b.kafka(s.Kafka, declared)
	case s.Files != nil:
		return b.files(ctx, s.Files, declared)
	case s.Rate != nil:
		return rate.New(rate.Config{RowsPerSecond: s.Rate.RowsPerSecond})
	default:
		return orders.New(orders.Config{RowsPerSecond: s.Orders.RowsPerSecond, Total: s.Orders.Rows, Seed: uint64(s.Orders.Seed)})
	}
}

// declaredSchema is nil if the schema is to be inferred.
func (b builder) declaredSchema() (*arrow.Schema, error) {
	if b.c.Source.Schema == "" {
		return nil, nil
	}
	s, err := schema.ParseDDL(b.c.Source.Schema)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return s, nil
}

func (b builder) kafka(k *config.Kafka, declared *arrow.Schema) (sources.Source, error) {
	format, known, err := b.messages(b.c.Source)
	if err != nil {
		return nil, err
	}
	if declared == nil {
		declared = known
	}
	start, err := kafkaStart(k.Start)
	if err != nil {
		return nil, err
	}
	c := kafka.Config{
		Brokers:    k.Brokers,
		Topics:     k.Topics,
		Pattern:    k.Pattern,
		Start:      start,
		Isolation:  kafka.Isolation(k.Isolation),
		OnDataLoss: kafka.OnDataLoss(k.OnDataLoss),
		Metadata:   k.Metadata,
		GroupID:    k.Group,
		Format:     format,
		Schema:     declared,
		Notice:     b.notice,
		RetryFor:   b.RetryFor,
	}
	c.TLS, c.SASL, c.Insecure = security(k.TLS, k.SASL)
	return kafka.New(c)
}

func kafkaStart(s config.Start) (kafka.Start, error) {
	out := kafka.Start{Latest: s.Word == "latest"}
	if s.Timestamp != nil {
		out.Timestamp = s.Timestamp.Time
	}
	for topic, partitions := range s.Offsets {
		if out.Offsets == nil {
			out.Offsets = map[string]map[int32]int64{}
		}
		out.Offsets[topic] = map[int32]int64{}
		for p, offset := range partitions {
			n, err := strconv.ParseInt(p, 10, 32)
			if err != nil {
				return out, fmt.Errorf("start: partition %q: %w", p, err)
			}
			out.Offsets[topic][int32(n)] = offset
		}
	}
	return out, nil
}

func (b builder) files(ctx context.Context, f *config.Files, declared *arrow.Schema) (sources.Source, error) {
	format, err := fileFormat(b.c.Source)
	if err != nil {
		return nil, err
	}
	root, glob := splitPath(f.Path)
	store, err := b.stores.At(ctx, root)
	if err != nil {
		return nil, err
	}
	uri := root
	if !strings.HasPrefix(root, "s3://") {
		uri = files.RootURI(root)
	}
	return files.New(files.Config{Store: store, Root: uri, Glob: glob, Format: format, Schema: declared, SettleAge: f.Settle.D(), SkipMissing: f.OnDataLoss == "skip", MaxInflation: f.MaxInflation, Notice: b.notice})
}

// splitPath is the folder of a path and the glob below it; the path of a single file is its folder and its name.
func splitPath(path string) (root, glob string) {
	root, glob = files.SplitGlob(path)
	if glob != "" || strings.HasPrefix(path, "s3://") {
		return root, glob
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return filepath.Dir(path), filepath.Base(path)
	}
	return root, glob
}
