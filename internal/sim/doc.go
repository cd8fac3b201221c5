// Package sim simulates whole systems: a query, its checkpoint, its table and its table of rejected rows, everybody else who works on them, and everything that can
// happen to them. It is the product's own code, in one process and one bubble of testing/synctest, on stores in memory.
//
//	seed --derive--> options: medium, format, source, pipeline, limits, and the faults
//	                    |
//	               scheduler: waits until every goroutine of every process waits (for the clock, or for an operation at the gate.Floor),
//	                    |     then lets one operation go, or strikes, or lets rows come, or lets time pass
//	    processes: drivers - twins - zombies - upkeep - foreign writers - repair
//	                    |
//	               witness, referee: look at table and checkpoint after each operation
//
// A run has three parts: rows come and faults strike, until so many batches are visible; then all faults end, those who stand still go on, and all are asked to
// end; then one last driver has to bring everything into the table, with bounds on operations and time.
//
// What is checked:
//
//	(V1) every version of the table holds the rows that the model makes of the input up to its batch, and so does the table of rejected rows, before it is visible;
//	(V2) offsets/<id> is what the batch of the table was made from, batches are dense, epochs never go back, entries of the log never change;
//	(V3) what a store has answered is there after a loss of power;
//	(V4) no file is deleted that is part of the table, or that a put which is still under way may make part of it; every live file is there;
//	(V5) a process ends with an error only if that has a code, and only with codes that the faults so far explain;
//	(V6) reports add up: read = decoded + rejected, decoded = out + filtered;
//	(V7) a function of foreachbatch gets each batch, for the first time in order, and each time with the same rows;
//	(V8) in the end nothing is left: no goroutine, no Arrow memory, no open file, and in format parquet no file that no version names, where that is promised;
//	(V9) package checker, which shares no code with any of this, finds nothing either.
//
// The same seed gives the same trace, to the byte of every random name. A run that fails prints its options, then the smallest options that fail too with the end of
// their trace. They go to testdata/regressions, which is run first.
//
//	go test ./internal/sim -run TestSeeds -seeds=2000          in as many processes as there are processors
//	go test ./internal/sim -run TestSeeds -first=17 -seeds=1 -v
//
// What it leaves out: real sockets, system calls and schedulers (internal/e2e has them), reads that return wrong bytes, several queries on one table, SQL.
package sim
