// Package lakehouse is the table sink: it commits batches to a table of package table, exactly once.
//
// A commit of batch b, digest d, epoch e of query q holds, in one version of the log:
//
//	commitInfo                                     in words: Spark's STREAMING UPDATE, and under "microbatch" pipeline, epoch, entry id, digest, the text of offsets/<b>
//	txn <q>                                   b    as Spark's own Delta sink writes it
//	txn <q>#offsets                                43 bits of d, then b modulo 2^20: which batch b this was
//	txn <q>#epoch                             e    the fence
//	txn microbatch/<hash of name, shard>/<q>  e    that this pipeline has written here, under which query id
//	add ...                                        the files; none in an empty batch
//
// All is decided against the state that the commit really follows: the rules (admit.go) are asked for the version the batch was prepared on, and again for
// each version that another writer put in between. So the checks and the commit are one atomic step:
//
//	(L1) our batch is there with our digest: AlreadyCommitted. With another digest: an error, another checkpoint commits under this query id.
//	(L2) a newer epoch is there: Fenced. Only then: a later batch of ours is there: an error.
//	(L3) a foreign writer changed schema or protocol: Conflict, prepare again.
//	(L4) a batch that was matched with rows of the table (Merge) goes behind the version that it was matched with: a foreign writer removed a file that it
//	     replaces, or added one that may hold rows of its keys: Conflict, prepare again.
//
// Such a batch also holds a remove for each file that it replaces, with dataChange true, in the same version.
//
// What it does not promise: that a plain Parquet reader never sees a file of a killed attempt. Those stay until Sweep, which the engine calls before it records
// the batch, or until vacuum.
package lakehouse
