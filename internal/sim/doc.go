// Package sim simulates whole systems: a query, its checkpoint, what it writes to and its table of rejected rows, everybody else who works on them, and everything that
// can happen to them. It is the product's own code, in one process and one bubble of testing/synctest, on stores in memory and models of services.
//
//	seed --derive--> options: medium, sink and mode, format, source, pipeline, limits, and the faults
//	                    |
//	               scheduler: waits until every goroutine of every process waits (for the clock, or for an operation at the gate.Floor),
//	                    |     then lets one operation go, or strikes, or lets rows come, or lets time pass
//	    processes: drivers - twins - zombies - upkeep - foreign writers - repair
//	                    |
//	               output, referee: look at what was written and at the checkpoint after each operation
//
// Seeds write, in turn, to each of these (output), with each way to put rows there:
//
//	parquet, delta    a table: rows are added, upserted, deduplicated, or take the place of all
//	kafka             a topic on a model of a cluster (kafkamodel), in transactions with the positions of the source
//	postgres          a table on a model of a database (pgmodel): append, upsert, ledger
//	files             a folder on the machine's disk, which loses what was not synced
//	http              a service that does an operation once
//	foreachbatch      a function of the user's
//
// One in six delivers at most once.
//
// A run has three parts: rows come and faults strike, until so many batches are visible; then all faults end, those who stand still go on, and all are asked to
// end; then one last driver has to bring everything to the output, with bounds on operations and time.
//
// What is checked:
//
//	(V1) every version of a table holds the rows that the model makes of the input up to its batch, and of what the version before held where rows are replaced; a target
//	     holds after each operation the rows that the model makes up to its batch, each once, and a target without batches at least those of the recorded ones and at
//	     most those of the fixed one; the table of rejected rows has those of a batch before it is visible;
//	(V2) offsets/<id> is what the batch was made from, by its digest in a target too, batches are dense, epochs never go back, entries of the log never change; the
//	     positions that a topic got with a batch are where the batch ends;
//	(V3) what a store or a folder has answered is there after a loss of power;
//	(V4) no file is deleted that is part of the table, or that a put which is still under way may make part of it; every live file is there;
//	(V5) a process ends with an error only if that has a code, and only with codes that the faults so far explain;
//	(V6) reports add up: read = decoded + rejected, decoded = out + dropped + filtered;
//	(V7) a function of foreachbatch gets each batch, for the first time in order, and each time with the same rows;
//	(V8) in the end nothing is left: no goroutine, no Arrow memory, no open file, and in format parquet no file that no version names, where that is promised;
//	(V9) package checker, which shares no code with any of this, finds nothing either;
//	(V10) at most once: no batch has an effect twice, and one is missing only if it is recorded and something struck while it was under way.
//
// The same seed gives the same trace, to the byte of every random name. A run that fails prints its options, then the smallest options that fail too with the end of
// their trace. They go to testdata/regressions, which is run first.
//
//	go test ./internal/sim -run TestSeeds -seeds=2000          in as many processes as there are processors
//	go test ./internal/sim -run TestSeeds -first=17 -seeds=1 -v
//
// What it leaves out: real sockets, system calls and schedulers (internal/e2e has them), reads that return wrong bytes, several queries on one output, SQL, the accidents
// of the cluster that is written to (those of the source's happen), and changes of the pipeline, repair and upkeep where the output is no table.
package sim
