// Package engine runs a query: it drives batches through the eight phases of the protocol and recovers after anything that ends a driver.
//
// Walk: Query.Run (query.go) starts a driver (start.go: the order in which things are opened, checked, claimed and recovered) and then loops over driver.step
// (driver.go), which does one phase and names the next. Each phase has its own file. What an error means is decided in one place (failure.go).
//
//	plan       phase_plan.go      where does the next range end?                 nothing of ours is durable
//	intend     phase_intend.go    put offsets/<id> if absent                     the batch is fixed
//	read       execute.go         open splits                                    -
//	transform  execute.go         chain operators                                -
//	prepare    execute.go         the sink pulls and stages the rows             files that nothing refers to
//	commit     phase_commit.go    rejected rows first, then the sink             the result
//	record     phase_record.go    put commits/<id> if absent                     the batch is done
//	release    phase_release.go   sources may forget; purge; maintenance         -
//
// The invariants of the protocol, cited in the code:
//
//	(P1) offsets/<id> is durable before anything of batch id is staged, and never planned again once it is.
//	(P2) The sink's commit of batch id comes after offsets/<id> and before commits/<id>; offsets/<id+1> comes after commits/<id>.
//	(P3) A driver commits only after it has seen, later than its own put of offsets/<id>, that no newer epoch is claimed.
//	(P4) Batch id starts where the durable offsets/<id-1> ends. What memory says is compared with it before the commit.
//	(P5) After an unknown outcome nothing is deleted and nothing is repeated with other bytes: a new epoch is claimed and the truth is read.
//	(P6) Source rows = decoded + rejected, and for row-wise pipelines decoded = out + filtered; positions reached equal the plan. Else nothing is committed.
package engine
