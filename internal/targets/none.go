package targets

import (
	"context"
	"errors"
	"time"

	"microbatch/checker"
)

// patience is how long a server is asked that does not answer, or not clearly: somebody waits.
const patience = 10 * time.Second

// None is a place that keeps no batches.
type None struct{ unread }

// Position keeps nothing.
func (None) Position(context.Context, string) (checker.Position, error) {
	return checker.Position{}, nil
}

// unread is a reader that leaves rows alone: which of them are a query's is not for it to say.
type unread struct{}

// Rows is not supported.
func (unread) Rows(context.Context) ([]string, error) { return nil, errors.ErrUnsupported }

// nowhere is the position of a query that has committed nothing.
var nowhere = checker.Position{Keeps: true, Batch: -1}
