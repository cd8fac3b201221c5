// Package arrowparquet writes Arrow records as Parquet files and reads them back. It is made of a page writer and a page reader of its own on the format
// structs, the Thrift protocol and the encodings of parquet-go.
//
// A file, as Writer lays it out:
//
//	"PAR1"
//	row group 0                   about 122,880 rows, or Options.RowGroupBytes
//	    chunk of column 0         all pages in one compression
//	        dictionary page       PLAIN strings; only while a dictionary is used
//	        data page             version 1, about 8,192 rows
//	            repetition levels 4 bytes length, RLE; only inside lists and maps
//	            definition levels 4 bytes length, RLE; only if something may be null
//	            values            those that are not null
//	        data page ...
//	    chunk of column 1 ...
//	row group 1 ...
//	footer                        FileMetaData, Thrift compact
//	4 bytes length of the footer, "PAR1"
//
// Encodings of values, with Encoding Auto: BOOLEAN, FLOAT, DOUBLE and FIXED_LEN_BYTE_ARRAY are PLAIN. INT32 and INT64 are DELTA_BINARY_PACKED, or PLAIN for
// the rest of a row group whose first page did not gain by it. Strings are RLE_DICTIONARY until the dictionary does not pay, then, for the rest of
// the file, DELTA_BYTE_ARRAY in row groups whose first strings share half of their bytes with the one before, like paths, and DELTA_LENGTH_BYTE_ARRAY in others. A chunk is stored uncompressed if compression gains less than 10 % on its first page;
// one of DELTA_BYTE_ARRAY, under snappy, if it gains less than half of the page and less than 10 % of the values.
//
// What makes it fast: rows are encoded straight from the buffers of the Arrow record while they are in the processor's cache, column after column; only
// records that are too small for a page are copied. Encoded pages stay in memory until their row group is complete, since a chunk's bytes are contiguous.
//
//	(A1) Minimum and maximum in the footer occur in the column; where they would have to be cut, or a NaN was seen, they are left out.
//	(A2) A column that is NOT NULL is REQUIRED in the file, and a null in it is an error of Write.
//	(A3) Whatever the input, reading is an error or gives rows that fit the wanted schema, never a panic; memory is bounded by the file's size and Limits.
//	(A4) Bytes that were given to the decoding library have been walked before: lengths, runs and widths are what it may trust.
//	(A5) Every page that is written has a checksum (CRC-32), and every one that is read is held against its own.
package arrowparquet
