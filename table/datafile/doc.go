// Package datafile writes and reads a table's data files.
//
// Names, below the table:
//
//	part-<n>-<owner>-<batch>-<attempt>.<codec>.parquet       rows of a batch; n has five digits, owner is a hash of query and shard
//	opt-<n>-<owner>-<0>-<attempt>.<codec>.parquet            rows rewritten by optimize
//	<column>=<value>/.../part-...                            in a partitioned table; the value is Hive-escaped
//
// So the files of every attempt of a batch are known by their names, and no two attempts ever write the same one. A partition column is not stored in
// the files: readers take its values from the log, or from the directories. In a directory name every ASCII byte outside [A-Za-z0-9_.-] is written as
// %XX and null as __HIVE_DEFAULT_PARTITION__. An empty string is null, as everywhere in Delta.
//
//	(F1) Nothing written here is part of a table: Stage only makes files and describes them.
//	(F2) A file is complete and durable before Finish returns.
//	(F3) At most MaxOpen files are open. Rows of further partitions go to local temporary files, and are written one partition after another.
//	(F4) A partition gets one file in a batch, unless it grows past the target size, or so large that several goroutines write it at once.
package datafile
