package foreachbatch_test

import (
	"context"
	"database/sql"

	"microbatch/sinks/foreachbatch"
)

// A function that reads the rows of a batch.
func ExampleNew() {
	sink, err := foreachbatch.New(foreachbatch.Config{
		Func: func(ctx context.Context, b foreachbatch.Batch) error {
			rows, err := b.Rows() // an array.RecordReader; may be asked for several times
			if err != nil {
				return err
			}
			defer rows.Release()
			for rows.Next() {
				// rows.RecordBatch() is valid until the next call
			}
			return rows.Err()
		},
	})
	_, _ = sink, err
}

// Your statements, in one transaction with the ledger.
func ExampleLedger() {
	var db *sql.DB
	_ = foreachbatch.Config{Exact: foreachbatch.ByLedger, Func: foreachbatch.Ledger(db, func(ctx context.Context, tx *sql.Tx, b foreachbatch.Batch) error {
		_, err := tx.ExecContext(ctx, "UPDATE counters SET n = n + $1", b.Count)
		return err
	})}
}

// Insert, update and delete by key.
func ExampleMerge() {
	var db *sql.DB
	_ = foreachbatch.Config{Exact: foreachbatch.ByLedger, Func: foreachbatch.Merge(db, foreachbatch.MergeConfig{
		Table: "orders", Keys: []string{"order_id"}, OrderBy: "updated_at", Operation: "op", Deletes: []string{"d"},
	})}
}
