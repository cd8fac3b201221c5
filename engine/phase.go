package engine

// Phase is a step of a batch. The phases are the states of the driver, the keys of durations in progress reports, the labels of metrics and the
// names of crash points ("commit.before", "commit.after").
type Phase int

// The phases, in order.
const (
	Plan Phase = iota
	Intend
	Read
	Transform
	Prepare
	Commit
	Record
	Release
	done // the query has ended: no phase of a batch
)

var phaseNames = [...]string{"plan", "intend", "read", "transform", "prepare", "commit", "record", "release", "done"}

// String is the phase's name.
func (p Phase) String() string { return phaseNames[p] }
