package world

import (
	"microbatch/checker"
	"microbatch/internal/sim/gate"
	"microbatch/sinks"
)

// Output is the place of a target, as operations name it.
const Output = "output"

// Target is what a query writes to that is no table: a model of a topic, a database, a folder or a service. It outlives processes.
type Target interface {
	// Target is how somebody sees it who has no part in the query.
	checker.Target
	// Sink is the target as a process writes to it. Whatever the sink asks of the target is an operation of the process at Output, of a kind that gate.Op.Writes
	// knows if it has an effect. It must not depend on goroutines' order.
	Sink(p *gate.Process) sinks.Sink
	// Gone tells it that a process has ended, so that its connections break: what was not committed is no more, as soon as such a service would notice.
	Gone(process string)
	// Clone is a second target with the same content, in which no process works.
	Clone() Target
}
