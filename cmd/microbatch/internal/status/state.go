package status

import (
	"sync"

	"microbatch/engine"
	"microbatch/ident"
)

// recentKept is how many progress reports are kept, as in Spark.
const recentKept = 100

// State is the answer of /status.
type State struct {
	ID    ident.QueryID `json:"id"`
	Run   ident.RunID   `json:"runId"`
	Name  string        `json:"name"`
	Epoch ident.Epoch   `json:"epoch"`
	// Guarantee is what the pipeline promises from end to end, in a sentence.
	Guarantee string            `json:"guarantee"`
	Status    Status            `json:"status"`
	Last      *engine.Progress  `json:"lastProgress"`
	Recent    []engine.Progress `json:"recentProgress"`
	Error     string            `json:"exception,omitempty"`
}

// Status is what the query does now, with Spark's field names.
type Status struct {
	Message string `json:"message"`
	Data    bool   `json:"isDataAvailable"`
	Active  bool   `json:"isTriggerActive"`
	Batch   int64  `json:"batchId"`
	Phase   string `json:"phase"`
	Rows    int64  `json:"numInputRows"`
	Behind  int64  `json:"numRowsBehind"`
}

// board is the state as the listener writes it and requests read it.
type board struct {
	mu    sync.Mutex
	state State
	ended bool
}

func (b *board) listener() engine.Listener {
	return engine.Listener{
		Started: func(s engine.Started) {
			b.change(func() {
				b.state.ID, b.state.Run, b.state.Name, b.state.Epoch, b.state.Guarantee = s.ID, s.Run, s.Name, s.Epoch, s.Guarantee
				b.state.Status = Status{Message: "started", Batch: -1, Behind: -1}
			})
		},
		Working: func(w engine.Working) {
			b.change(func() {
				b.state.Status = Status{Message: "batch " + w.Batch.String() + ": " + w.Phase.String(), Data: true, Active: true,
					Batch: int64(w.Batch), Phase: w.Phase.String(), Rows: w.Rows, Behind: w.Behind}
			})
		},
		Progress: func(p engine.Progress) {
			b.change(func() {
				b.state.Last = &p
				if b.state.Recent = append(b.state.Recent, p); len(b.state.Recent) > recentKept {
					b.state.Recent = append([]engine.Progress(nil), b.state.Recent[1:]...)
				}
				b.state.Status = Status{Message: "waiting for the next trigger", Data: p.Behind > 0, Batch: int64(p.Batch), Behind: p.Behind}
			})
		},
		Idle: func(engine.Idle) {
			b.change(func() {
				b.state.Status.Message, b.state.Status.Data, b.state.Status.Active = "waiting for data", false, false
			})
		},
		Terminated: func(err error) {
			b.change(func() {
				b.ended = true
				b.state.Status = Status{Message: "ended", Batch: b.state.Status.Batch, Behind: b.state.Status.Behind}
				if err != nil {
					b.state.Error = err.Error()
				}
			})
		},
	}
}

func (b *board) change(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

// read is the state now; its slices are not changed any more.
func (b *board) read() (State, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.state
	s.Recent = append([]engine.Progress{}, s.Recent...)
	return s, b.ended
}
