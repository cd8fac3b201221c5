package objstore

import "time"

// Clocked is a store whose answers say what time it is there: by the clock that dates its objects, and that runs on while this machine sleeps.
type Clocked interface {
	// Clock is the time in the newest answer; the zero time if none has said it.
	Clock() time.Time
}

// Clock is the time by a store's own clock as of its newest answer; the zero time if it does not say.
func Clock(s Store) time.Time {
	if c, ok := s.(Clocked); ok {
		return c.Clock()
	}
	return time.Time{}
}

// Clock is that of the whole store.
func (p prefixed) Clock() time.Time { return Clock(p.Store) }
