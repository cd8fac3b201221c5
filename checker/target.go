package checker

import "context"

// Target is what a query writes to that is no table (a topic, a database, a folder, a service), as somebody reads it who has no part in the query.
type Target interface {
	// Position is what the target itself says of a query.
	Position(ctx context.Context, query string) (Position, error)
	// Rows are the ids of the rows that readers see, each as often as it is there; errors.ErrUnsupported if that is not for this reader to say.
	Rows(ctx context.Context) ([]string, error)
}

// Position is the newest batch of a query that a target holds, as it was committed with the rows.
type Position struct {
	// Keeps is false for a target that knows of no batches (a service): the other fields then mean nothing.
	Keeps  bool   `json:"keeps"`
	Batch  int64  `json:"batch"`  // -1: none
	Digest string `json:"digest"` // in hex, as much of the sha256 of offsets/<id> as the target keeps; "" if there is no batch
	Epoch  int64  `json:"epoch"`  // the highest seen; 0: none
	Entry  string `json:"entry"`  // of the run that committed it; "" if the target does not keep it
}

// Keeper is a Target that tells of older batches too.
type Keeper interface {
	Target
	// Batches are those of a query that it still tells of, ascending. progress, if it is not nil, is called now and then with how many of the "batches" were read.
	Batches(ctx context.Context, query string, progress func(what string, done, all int64)) ([]Kept, error)
}

// Kept is a batch of a Keeper.
type Kept struct {
	Position
	Place  string   // of messages
	Rows   int64    // -1: not known
	Listed bool     // in a list of the target's that has no holes
	Faults []string // what of it is missing or not as it was committed
}
