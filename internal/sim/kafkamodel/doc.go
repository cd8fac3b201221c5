// Package kafkamodel is a model of a Kafka cluster in process, without sockets and goroutines. A source runs on it by its Client, a sink by its Writer; the simulation is
// the other producers, the administrator and the bad luck.
//
//	Client --latency--> hook ------> broker: Metadata | ListOffsets | Fetch | OffsetForLeaderEpoch | DescribeProducers | OffsetCommit
//	Writer --latency--> hook ------> broker: InitProducerID | AddPartitionsToTxn | Produce | AddOffsetsToTxn | TxnOffsetCommit | EndTxn | OffsetFetch | ...
//	                                   |
//	Produce, Begin, AddPartitions, ... v
//	         '-------------------> Cluster: topic (id) > partition (leader, epochs) > log (batches of format 2, transactions, log start)
//	                                        transactional id (producer, epoch, state) > its transaction;  group > positions
//
// One cluster serves both sides, since what a sink has written in transactions is what a source reads. They meet it at different heights: a source is a client of requests
// on the wire, of a sink only what its kafka.Cluster and kafka.Producer would make the client library send; a Target is a topic of such a cluster in package world.
//
// What always holds:
//
//	(M1) Deterministic: the same calls at the same times give the same answers to the byte. Nothing is taken from a map's order, chance or the real clock.
//	(M2) Requests and answers of a Client go through their wire format, so that it gets what a broker's version has and no memory is shared; what a Writer sends is copied.
//	(M3) No lock is held while something waits, and everything that waits ends with its context: in a testing/synctest bubble all waiting is durable.
//	(M4) Requests that are sent at one instant are served in an order that depends on their bytes alone, if the cluster has a Latency: each takes a time of its own.
//	(M5) A log obeys Kafka's rules: batches are served whole from the one that holds the offset, the last of an answer may be cut off; read_committed ends at
//	the last stable offset; compaction takes records and whole batches, and never renumbers; the end of a log moves back only by Truncate, with a new epoch.
//
//	(M6) A transactional id has one transaction at a time, and one epoch whose producer is heard: InitProducerID, and the end of a transaction's time, raise it and abort
//	what is open. EndTxn is answered when the end is decided; for Config.Settling it is under way: nothing new begins, and what it changes is unstable. Then readers see
//	records and positions, or never will. So a request that arrives late has its effect if no epoch was raised before it, and else none.
//
// What it leaves out: replicas that lag (the high watermark is the end of the log), fetch sessions, groups beyond their offsets, record headers, formats before 2,
// brokers without topic ids, log append time. Compression is gzip or none: a zstd decoder that was made in a bubble ends in a finalizer outside of it.
//
// Misuse, as of a partition that does not exist, is an error of the test and panics.
package kafkamodel
