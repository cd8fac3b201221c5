package rate

import (
	"context"
	"fmt"

	"microbatch/guarantee"
)

// Guarantee is exactly once: the rows are not kept, but made again.
func (s *Source) Guarantee(context.Context) guarantee.Link {
	return guarantee.Link{
		Name:   fmt.Sprintf("generated rows, %d a second", s.config.RowsPerSecond),
		Reason: "a row is a function of its number and of the pinned start, and is made again when its batch runs again",
	}
}
