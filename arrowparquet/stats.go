package arrowparquet

import (
	"github.com/apache/arrow-go/v18/arrow"
)

// ColumnStats are the statistics of one leaf column, over a file or a row group.
type ColumnStats struct {
	Path []string       // names from the root, with "element", "key" and "value" inside arrays and maps
	Type arrow.DataType // of the leaf
	// Nulls is how many of the leaf's entries have no value. Inside an array or a map an empty or null list counts as one entry.
	Nulls int64
	// Repeated says that the leaf is inside an array or a map; ListNulls is then how many rows have a null for the outermost of them. It is 0 for a row
	// group that was read.
	Repeated  bool
	ListNulls int64
	NaN       bool // a NaN was seen; then there is no minimum and maximum. It is not known of a row group that was read
	// Min and Max are bounds that occur, or nil if there are none (no value, a NaN, a type without order). They are: bool; int64 for integers, dates
	// (days) and timestamps (microseconds); float64; decimal128.Num for decimals; string for STRING and BINARY.
	Min, Max any
	// MinCut and MaxCut say that Min and Max are only the beginning of what occurs: the true maximum is not below Max but may be above it.
	MinCut, MaxCut bool
}

// FileStats describes a file that was written.
type FileStats struct {
	Rows    int64
	Bytes   int64
	Columns []ColumnStats // leaves in order

	schema  *arrow.Schema
	indexed int // leaves with minimum and maximum in DeltaJSON; negative: all
}
