package datafile

import (
	"errors"
	"fmt"

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
