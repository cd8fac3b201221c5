package batch

import "github.com/apache/arrow-go/v18/arrow"

// RejectedSchema is the schema of a query's table of rejected rows: one row for each Rejected.
func RejectedSchema() *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{
		{Name: "batch_id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "batch_timestamp", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true},
		{Name: "position", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "reason", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "raw", Type: arrow.BinaryTypes.Binary, Nullable: true},
	}, nil)
}
