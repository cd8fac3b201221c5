package pipeline

import (
	"context"
	"runtime"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/codec"
	"microbatch/codec/json"
	"microbatch/pipeline/config"
	"microbatch/sinks"
	"microbatch/sinks/console"
	"microbatch/sinks/foreachbatch"
	"microbatch/sinks/lakehouse"
	"microbatch/sinks/postgres"
	"microbatch/sources"
)

// sink is the one switch over the kinds of sinks.
func (b builder) sink(ctx context.Context, source sources.Source) (sinks.Sink, error) {
	switch s := b.c.Sink; {
	case s.Table != nil:
		return b.table(ctx, s.Table)
	case s.Files != nil:
		return b.filesSink(s.Files)
	case s.Postgres != nil:
		return b.postgres(s.Postgres)
	case s.Kafka != nil:
		return b.kafkaSink(s.Kafka, source)
	case s.HTTP != nil:
		return b.http(ctx, s.HTTP)
	case s.ForeachBatch != nil:
		return b.foreachBatch(s.ForeachBatch)
	default:
		c := console.Config{Writer: b.Console, Rows: s.Console.Rows}
		if s.Console.Format == "json" {
			c.Encoder = &jsonRows{}
		}
		return console.New(c)
	}
}

func (b builder) foreachBatch(f *config.ForeachBatch) (sinks.Sink, error) {
	c := foreachbatch.Config{Command: f.Command, Dir: b.c.Dir(), Timeout: f.Timeout.D(), Output: b.Programs}
	if f.Postgres != nil {
		return postgres.New(postgres.Config{
			URL: f.Postgres.URL, Password: f.Postgres.Password.Value(), Mode: postgres.SQL, SQL: f.SQL, Timeout: f.Timeout.D(), RetryFor: b.RetryFor, JSON: json.NewEncoder,
		})
	}
	if len(f.SQL) > 0 {
		apply, err := foreachbatch.DuckDB(foreachbatch.DuckDBConfig{Path: f.DuckDB, SQL: f.SQL, Threads: runtime.GOMAXPROCS(0)})
		if err != nil {
			return nil, err
		}
		c.Func, c.Exact = apply, foreachbatch.ByLedger
		c.Name = "statements in the DuckDB database " + f.DuckDB
		c.What = map[string]any{"duckdb": f.DuckDB, "sql": f.SQL}
	}
	return foreachbatch.New(c)
}

// jsonRows encodes rows of whatever schema comes: it is known only when the sources are open.
type jsonRows struct {
	schema  *arrow.Schema
	encoder codec.Encoder
}

// AppendRow encodes one row.
func (j *jsonRows) AppendRow(dst []byte, record arrow.RecordBatch, row int) ([]byte, error) {
	if j.schema != record.Schema() {
		e, err := json.NewEncoder(record.Schema())
		if err != nil {
			return dst, err
		}
		j.schema, j.encoder = record.Schema(), e
	}
	return j.encoder.AppendRow(dst, record, row)
}

func (b builder) table(ctx context.Context, t *config.Table) (sinks.Sink, error) {
	store, err := b.stores.At(ctx, t.Path)
	if err != nil {
		return nil, err
	}
	return lakehouse.New(lakehouse.Config{
		Store:           store,
		URL:             t.Path,
		Format:          t.Format,
		PartitionBy:     t.PartitionBy,
		SchemaEvolution: t.SchemaEvolution,
		Merge: lakehouse.Merge{
			Mode: t.Mode, Keys: t.Keys, OrderBy: t.OrderBy, OperationColumn: t.OperationColumn, DeleteValues: t.DeleteValues, DeduplicateBy: t.DeduplicateBy,
		},
		Compression:        t.Compression,
		Encoding:           t.Encoding,
		TargetFileBytes:    int64(t.TargetFileSize),
		Properties:         t.Properties,
		Maintenance:        lakehouse.Maintenance{OptimizeEvery: t.Maintenance.OptimizeEvery.D(), VacuumRetain: t.Maintenance.VacuumRetain.D()},
		SweepOff:           !t.Sweep,
		AllowReplacedFiles: t.AllowReplacedFiles,
	})
}

// rejected is the table of rejected rows; nil if none are kept.
func (b builder) rejected(ctx context.Context) (sinks.Sink, error) {
	if b.c.Rejected == nil {
		return nil, nil
	}
	store, err := b.stores.At(ctx, b.c.Rejected.Table)
	if err != nil {
		return nil, err
	}
	c := lakehouse.Config{Store: store, URL: b.c.Rejected.Table, AppSuffix: "/rejected"}
	if t := b.c.Sink.Table; t != nil {
		c.Format, c.Encoding, c.Compression, c.SweepOff = t.Format, t.Encoding, t.Compression, !t.Sweep
	}
	return lakehouse.New(c)
}
