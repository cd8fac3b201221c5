// Package files is a source that reads each file below a directory or bucket prefix once.
//
// Which files were taken stands in a seen-log in sources/<n>/ of the checkpoint, in the layout of Spark's FileStreamSourceLog:
//
//	sources/<n>/12          v1 LF {"path":"file:///in/a%20b.json","timestamp":1700000000000,"batchId":12,"size":2048,"crc":2514586530} LF ...
//	sources/<n>/19.compact  v1 LF the lines of all entries 0..19
//	sources/<n>/schema      sealed: {"schema":"id BIGINT, ..."}; only if the schema was inferred
//
// An offset is {"logOffset":12}: everything up to entry 12 of that log. "batchId" is the number of the log's entry, not the query's batch.
// "size", "etag" where the store has one, and "crc", the CRC32C of the line before it, are additions of ours; Spark leaves them alone, and lines without them are read.
//
//	(F1) A file is in at most one entry. An entry k is made only by who has seen all entries before k, and put if absent.
//	(F2) An entry, once there, is the next range, whoever made it: a plan that finds entry from+1 returns it as it stands. So an entry
//	     whose batch was never written down (a crash between the two) is neither lost nor doubled.
//	(F3) A file is read as it was planned: size, modification time and etag are compared when it is opened, and again at its end where the store
//	     has no etags. Anything else is an error, never other rows.
//	(F4) Before Pin nothing is written: plans are kept in memory and forgotten by Pin.
//
// The names of all files ever seen are kept in memory as 128-bit hashes, about 50 bytes a file; a listing costs one pass over the names below
// the fixed part of the glob. A file that grows after it was read is not read again, as in Spark; it is noticed and said once.
package files
