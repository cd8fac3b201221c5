// Package kafka writes batches to Kafka topics, exactly once: one transaction for each batch, with a marker in it that says which batch it was.
//
// # The marker
//
// A query has one name in Kafka, microbatch-<query id>, with -<shard> behind it if the query is split. It is the transactional id of the producer, and a consumer group
// that nobody consumes with: the group's position at partition 0 of the topic is the marker. Its offset is the number of the next batch, as the position of a consumer
// is the next offset; its metadata are a line of JSON with batch, digest, epoch, entry id and the pipeline's name. It is written in each transaction, with the records,
// so it is visible if and only if they are.
//
// # The records
//
// Blocks of records are made here, of columns, and sent by the client library's connections: see producing. The library's own producer spends on each record what it may
// for large ones, and most of the processor time for small ones.
//
// # The life of a transaction
//
//	Recover, Fence,
//	after any doubt     claim:   list epochs, InitProducerID, list epochs, read the marker
//	Prepare             produce the records, as they come, in a transaction
//	Commit              add the marker, and the positions of commit_group, to the transaction, and end it
//
// InitProducerID aborts what an earlier producer left open and refuses everything that it still sends. It returns when no transaction of the id is under way, so that
// the marker that is read then is the truth. Promises, cited in the code:
//
//	(T1) Before each InitProducerID the epochs of the checkpoint are listed: who is not the newest leaves the newest alone.
//	(T2) After it they are listed again: whoever claimed one meanwhile will take the id back, and what this driver does until then would be done by an old epoch.
//	     So a driver that slept between (T1) and InitProducerID cannot commit; the newest, whose producer it has taken, finds that and claims again.
//	(T3) Then the marker is read, once nothing is under way. A newer epoch in it: Fenced.
//	(T4) After any error of a producer it is discarded: closed, never asked again. The next attempt claims.
//	(T5) EndTxn without a clear answer is Uncertain, unless the marker tells. Nothing is aborted then: the engine claims an epoch and Recover the id.
//
// What it does not promise: a reader with isolation.level=read_uncommitted, the default of many clients, also sees records of attempts that were aborted.
package kafka
