package orders

import (
	"context"

	"microbatch/guarantee"
)

// Guarantee is exactly once: the events are not kept, but made again.
func (s *Source) Guarantee(context.Context) guarantee.Link {
	return guarantee.Link{
		Name:   "generated orders",
		Reason: "an event is a function of the seed and its number, and is made again when its batch runs again",
	}
}
