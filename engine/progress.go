package engine

import (
	"encoding/json"
	"math"
	"time"

	"microbatch/ident"
	"microbatch/sinks"
)

// Progress is the report of one batch, with the field names and order of Spark's StreamingQueryProgress; the fields after Sink are ours.
type Progress struct {
	ID             ident.QueryID    `json:"id"`
	RunID          ident.RunID      `json:"runId"`
	Name           string           `json:"name"`
	Timestamp      string           `json:"timestamp"` // when the trigger fired
	Batch          ident.BatchID    `json:"batchId"`
	BatchDuration  int64            `json:"batchDuration"` // ms
	InputRows      int64            `json:"numInputRows"`
	InputPerSecond *float64         `json:"inputRowsPerSecond,omitempty"`
	PerSecond      *float64         `json:"processedRowsPerSecond,omitempty"`
	Durations      map[string]int64 `json:"durationMs"` // Spark's names
	Sources        []SourceProgress `json:"sources"`
	Sink           SinkProgress     `json:"sink"`

	Phases   map[string]float64 `json:"phaseMs"` // our names
	Decoded  int64              `json:"numDecodedRows"`
	Filtered int64              `json:"numFilteredRows"` // -1 with operators that are not row-wise
	Rejected int64              `json:"numRejectedRows"`
	Behind   int64              `json:"numRowsBehind"` // -1 if unknown
	Attempts int                `json:"attempts"`
	Epoch    ident.Epoch        `json:"epoch"`
	Digest   string             `json:"digest"`
	Replayed bool               `json:"replayed,omitempty"` // it was pending at a start
	Delivery string             `json:"delivery,omitempty"` // "at_most_once" if the batch was recorded before it was committed
}

// SourceProgress is one source's share.
type SourceProgress struct {
	Description    string          `json:"description"`
	Start          json.RawMessage `json:"startOffset"`
	End            json.RawMessage `json:"endOffset"`
	Latest         json.RawMessage `json:"latestOffset"`
	InputRows      int64           `json:"numInputRows"`
	InputPerSecond *float64        `json:"inputRowsPerSecond,omitempty"`
	PerSecond      *float64        `json:"processedRowsPerSecond,omitempty"`
}

// SinkProgress is the sink's share.
type SinkProgress struct {
	Description string `json:"description"`
	Rows        int64  `json:"numOutputRows"`
	Dropped     int64  `json:"numDroppedRows,omitempty"` // the sink has no use for them: other rows of their keys count, or it has them
	// Changes is what the rows have done to those that the sink had; nil, and without fields in JSON, if the sink does not tell, or held the batch already.
	*sinks.Changes
	Files   int    `json:"numFiles"`
	Bytes   int64  `json:"numBytes"`
	Version int64  `json:"version"` // of the table; -1 for other sinks
	Outcome string `json:"outcome"`
}

// sparkDurations maps our phases to the keys of durationMs.
var sparkDurations = map[Phase]string{
	Plan: "latestOffset", Intend: "walCommit", Read: "getBatch", Transform: "queryPlanning", Prepare: "addBatch", Commit: "addBatch", Record: "commitOffsets",
}

// stopwatch adds up the time spent in each phase of a batch.
type stopwatch struct {
	began time.Time
	spent [done]time.Duration
}

// total is how long the batch has taken so far.
func (w *stopwatch) total() time.Duration { return time.Since(w.began) }

func (w *stopwatch) add(p Phase, d time.Duration) { w.spent[p] += d }

// report fills in the durations of a progress.
func (w *stopwatch) report(p *Progress) {
	total := w.total()
	spark := map[string]time.Duration{"triggerExecution": total}
	p.Phases = map[string]float64{}
	for phase, d := range w.spent {
		p.Phases[Phase(phase).String()] = math.Round(float64(d)/1e4) / 100
		if name, ok := sparkDurations[Phase(phase)]; ok {
			spark[name] += d
		}
	}
	p.BatchDuration = total.Milliseconds()
	p.Durations = map[string]int64{}
	for name, d := range spark {
		p.Durations[name] = d.Milliseconds()
	}
	p.PerSecond = rate(p.InputRows, total)
}

// rate is rows per second, or nil where it would be no number.
func rate(rows int64, d time.Duration) *float64 {
	if d <= 0 {
		return nil
	}
	r := float64(rows) / d.Seconds()
	return &r
}

// rawOffset is an offset as JSON; null if there is none.
func rawOffset(o ident.Offset) json.RawMessage {
	if o == "" {
		return json.RawMessage("null")
	}
	return json.RawMessage(o)
}

// isoMillis is the form of times in Spark's progress.
func isoMillis(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
