package guarantee

import "time"

// Level is what may happen to a row: a set of the two ways to fail it.
type Level int

// The levels.
const (
	ExactlyOnce Level = 0
	AtLeastOnce Level = 1 << 0 // a row may come twice
	AtMostOnce  Level = 1 << 1 // a row may be lost
	Neither     Level = AtLeastOnce | AtMostOnce
)

// String is the level in words.
func (l Level) String() string {
	return [...]string{"exactly once", "at least once", "at most once", "neither at least nor at most once"}[l&Neither]
}

// MarshalText is String, for JSON.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Link is one part of a pipeline, as it describes itself.
type Link struct {
	// Part says where in the pipeline it stands: "source", "transform 1", "batches", "rejected rows", "sink". The engine fills it in.
	Part string `json:"part"`
	// Name says what it is: "append to the delta table s3://lake/orders".
	Name  string `json:"name"`
	Level Level  `json:"level"`
	// Reason is why, as it stands after "because".
	Reason string `json:"reason"`
	// Remedy is what would make the link better; "" if nothing would or need be.
	Remedy string `json:"remedy,omitempty"`
	// Visible says when readers of a sink see rows, as it stands after "rows are visible"; "" for other parts.
	Visible string `json:"visible,omitempty"`
	// Readers are what programs that read the sink have to set or do to see what is promised.
	Readers []string `json:"readers,omitempty"`
	// Warnings are what a user should know about the part that is no error: sentences without a full stop.
	Warnings []string `json:"warnings,omitempty"`

	// Repeats: recording a batch before its commit does not keep rows of this sink from coming twice: readers see them before the commit, or the sink sends again what it
	// got no answer to.
	Repeats bool `json:"-"`
	// BatchLimit is how long a batch may take before a service gives it up; 0: no service does.
	BatchLimit time.Duration `json:"-"`
	// Retention is how long a source keeps a row that was not read; 0: unknown, or for ever.
	Retention time.Duration `json:"-"`
	// Window is how far apart equal rows may be and still be recognised by a step that removes them; 0: it removes none, or remembers for ever.
	Window time.Duration `json:"-"`
}
