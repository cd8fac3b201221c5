// Package kafka reads topics by ranges of explicit offsets, without a consumer group.
//
// An offset is Spark's text, byte for byte: topics sorted, partitions in numeric order, no spaces; each number is the next offset to read.
//
//	{"orders":{"0":120,"1":98}}
//
// Beside the checkpoint's logs the source keeps two files of its own:
//
//	sources/<n>/0         0x00 "v1\n" <offset>     the initial position, as Spark writes it
//	sources/<n>/schema    v1, {"ddl":"..."}, CRC   an inferred schema
//
// and with each planned range the facts that a rerun needs (Planned.Aux), each a JSON object by topic and partition:
//
//	topic_ids      {"orders":"<uuid>"}             the topics' identity: one created again under the same name is another topic
//	leader_epochs  {"orders":{"0":3}}              the leader epoch of the range's end, by which a cut log is noticed
//	starts         {"orders":{"4":0}}              where a partition begins that the range's start does not name
//	lost           {"orders":{"0":[50,100]}}       what retention had removed already, with on_data_loss: skip
//
// What always holds:
//
//	(K1) Progress is counted by position, not by records: transaction markers, aborted records and compaction leave holes, which are covered all the same.
//	(K2) Under read_committed a range ends at the last stable offset, so that what it holds no longer changes.
//	(K3) A position never moves by itself. What is not there any more is an error, or with on_data_loss: skip a notice that names the exact range. Before
//	anything is read under a new leader epoch, the leader is asked where the log of the former one ended: a range that was planned further stops.
//	(K4) A partition that is new begins at its first offset; one that is known never becomes new again, however empty the cluster's metadata are.
//	(K5) A slab belongs to one tape and is handed to one split; a split gets the slabs of a partition in order.
//	(K6) The same answers at the same times lead to the same requests, in content and order; no lock is held while one is under way.
//
// The path of a record: fetcher (one goroutine for each leader, one answer of the broker at a time) -> slab on the tape of its partition -> split, which
// decompresses the slab and decodes its records into Arrow columns. Fetchers run ahead of the planned range, into bounded memory, so that the next range
// mostly finds its records there.
package kafka
