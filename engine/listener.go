package engine

import (
	"microbatch/ident"
)

// Listener is told what happens. Functions that are nil are skipped; none may block for long, because the driver waits for them.
type Listener struct {
	Started    func(Started)
	Working    func(Working)  // at each phase, and a few times a second while rows flow
	Progress   func(Progress) // after each batch
	Idle       func(Idle)     // every 10 s without a batch
	Notice     func(string)   // something a person should read: an accepted change, lost data that was skipped
	Terminated func(error)    // last; nil after a normal end
}

// Started is the begin of a run.
type Started struct {
	ID    ident.QueryID
	Run   ident.RunID
	Name  string
	Epoch ident.Epoch
	Plan  string // how it begins, in words
	Fresh bool   // the checkpoint has no batch yet
	// Guarantee is what the pipeline promises from end to end, in a sentence, as far as the configuration alone tells.
	Guarantee string
}

// Working is a batch under way.
type Working struct {
	Batch   ident.BatchID
	Phase   Phase
	Rows    int64 // source rows so far
	Planned int64 // source rows of the batch, -1 if unknown
	Behind  int64 // source rows after the batch, -1 if unknown
}

// Idle is a sign of life without data.
type Idle struct {
	ID        ident.QueryID `json:"id"`
	Run       ident.RunID   `json:"runId"`
	Timestamp string        `json:"timestamp"`
}

// Tee calls both listeners, l first.
func (l Listener) Tee(other Listener) Listener {
	return Listener{
		Started:    tee(l.Started, other.Started),
		Working:    tee(l.Working, other.Working),
		Progress:   tee(l.Progress, other.Progress),
		Idle:       tee(l.Idle, other.Idle),
		Notice:     tee(l.Notice, other.Notice),
		Terminated: tee(l.Terminated, other.Terminated),
	}
}

func tee[T any](a, b func(T)) func(T) {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(v T) { a(v); b(v) }
}

func tell[T any](f func(T), v T) {
	if f != nil {
		f(v)
	}
}

func (l Listener) terminated(err error) { tell(l.Terminated, err) }
