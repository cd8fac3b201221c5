package datafile

import (
	"errors"
	"fmt"
	"strconv"

	"microbatch/arrowparquet"
)

// ParquetOptions say how files are written.
type ParquetOptions = arrowparquet.Options

// Parquet reads the words of a configuration: compression snappy (or empty), zstd or none; encoding auto (or empty) or plain.
func Parquet(compression, encoding string) (ParquetOptions, error) {
	var o ParquetOptions
	var errs []error
	switch compression {
	case "", arrowparquet.Snappy, arrowparquet.Zstd, arrowparquet.None:
		o.Compression = compression
	default:
		errs = append(errs, fmt.Errorf("compression: %q is none of snappy, zstd, none", compression))
	}
	switch encoding {
	case "", "auto":
	case "plain":
		o.Encoding = arrowparquet.Plain
	default:
		errs = append(errs, fmt.Errorf("encoding: %q is neither auto nor plain", encoding))
	}
	return o, errors.Join(errs...)
}

// IndexedColumns is the table property that says how many columns have minimum and maximum in the log: -1 all, 0 none, 32 if it is not set.
const IndexedColumns = "delta.dataSkippingNumIndexedCols"

// indexed sets how many leaves get minimum and maximum in add.stats; none says that there are to be none at all.
func indexed(o ParquetOptions, property string) (options ParquetOptions, none bool) {
	n, err := strconv.Atoi(property)
	if property == "" || err != nil {
		return o, false
	}
	o.StatsColumns = n // negative: all
	return o, n == 0
}

// codecName is the part of a file name that tells the compression.
func codecName(o ParquetOptions) string {
	switch o.Compression {
	case "":
		return arrowparquet.Snappy
	case arrowparquet.None:
		return "uncompressed"
	}
	return o.Compression
}
