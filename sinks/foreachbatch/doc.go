// Package foreachbatch is a sink that hands each batch to the user's own code: a Go function, or a program.
//
//	Prepare   spools the rows to local disk, as one Arrow IPC stream in a file without a name
//	Commit    calls the function, or runs the program with that stream as its standard input
//
// A program finds in its environment
//
//	MICROBATCH_QUERY_ID   the id of the query, the same for ever
//	MICROBATCH_BATCH_ID   0, 1, 2, ... without holes
//	MICROBATCH_EPOCH      grows with each start of the query
//	MICROBATCH_ATTEMPT    another one at each try
//	MICROBATCH_DIGEST     hex; the same at each try of a batch
//
// and says by exit status 0 that the batch was applied. Anything else stops the query, with the end of its standard error in the message.
//
// The sink keeps no batch ids, so it promises at least once: a crash between the return of the user's code and the query's own record passes
// the same batch again, with the same query id, batch id, digest and rows. Who stores query id and batch id together with the rows, in one
// transaction, and skips a pair that is there already, has exactly once.
//
// A program is ended with all the processes it has started (its process group) when the query is stopped or the time is up. On Linux the
// program itself is also ended when this process dies.
package foreachbatch
