package foreachbatch

import (
	"fmt"
	"io"

	"microbatch/arrowparquet"
)

// WriteParquet writes the batch's rows as one Parquet file, compressed with snappy. What w is, and whether it is durable, is the caller's affair.
func (b Batch) WriteParquet(w io.Writer) error {
	rows, err := b.Rows()
	if err != nil {
		return err
	}
	defer rows.Release()
	out, err := arrowparquet.NewWriter(w, b.Schema, arrowparquet.Options{})
	if err != nil {
		return fmt.Errorf("foreachbatch: %w", err)
	}
	for rows.Next() {
		if err := out.Write(rows.RecordBatch()); err != nil {
			return fmt.Errorf("foreachbatch: write Parquet: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("foreachbatch: read the spool: %w", err)
	}
	if _, err := out.Close(); err != nil {
		return fmt.Errorf("foreachbatch: write Parquet: %w", err)
	}
	return nil
}
