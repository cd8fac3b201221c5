package pipeline_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"microbatch/engine"
	"microbatch/pipeline"
	"microbatch/table"
)

// A program runs a pipeline file itself, and listens to its progress.
func Example() {
	dir, err := os.MkdirTemp("", "pipeline")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "orders.yaml")
	text := `
name: orders
source: {orders: {rows_per_second: 0, rows: 300}}
transform:
  - select: [order_id, amount, country]
sink: {table: {path: orders, partition_by: [country]}}
trigger: {once: true, max_rows: 100}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	c, err := pipeline.Load(file, "source.orders.rows=250") // as --set on the command line
	if err != nil {
		log.Fatal(err) // all faults of the file, with their places
	}
	if err := pipeline.Probe(ctx, c); err != nil { // stores on S3 must create objects atomically
		log.Fatal(err)
	}
	q, err := pipeline.Build(ctx, c, pipeline.Options{})
	if err != nil {
		log.Fatal(err)
	}
	q.Listener = engine.Listener{Progress: func(p engine.Progress) {
		fmt.Printf("batch %d: %d rows, table version %d\n", p.Batch, p.InputRows, p.Sink.Version)
	}}
	if err := q.Run(ctx); err != nil { // until it is done, fails, or ctx ends
		log.Fatal(err)
	}

	store, err := pipeline.NewStores(c).At(ctx, c.Sink.Table.Path)
	if err != nil {
		log.Fatal(err)
	}
	t, err := table.Open(ctx, store, table.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("partitioned by", t.Snapshot().PartitionBy())
	// Output:
	// batch 0: 100 rows, table version 1
	// batch 1: 100 rows, table version 2
	// batch 2: 50 rows, table version 3
	// partitioned by [country]
}
