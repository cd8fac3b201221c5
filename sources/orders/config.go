package orders

import (
	"errors"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// DefaultStart is the event time of event 0 unless Config.Start says otherwise.
var DefaultStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Config configures the source.
type Config struct {
	// RowsPerSecond is the pace at which events become available, counted from the first plan of a process. 0: all at once, and Total must be set.
	RowsPerSecond int64
	// Total is how many events there are; 0 is endless.
	Total int64
	// Seed chooses the events.
	Seed uint64
	// Start is the event time of event 0; zero is DefaultStart. It is cut to microseconds.
	Start time.Time

	Alloc memory.Allocator // nil: Go's heap
	Now   func() time.Time // nil: time.Now
}

func (c Config) withDefaults() (Config, error) {
	var faults []error
	if c.RowsPerSecond < 0 {
		faults = append(faults, errors.New("rows_per_second is negative"))
	}
	if c.Total < 0 || c.Total > maxEvents {
		faults = append(faults, errors.New("total is not within 0..10^12"))
	}
	if c.RowsPerSecond == 0 && c.Total == 0 {
		faults = append(faults, errors.New("rows_per_second and total are both 0: that would be endless at once; set one of them"))
	}
	if c.Start.IsZero() {
		c.Start = DefaultStart
	}
	if c.Alloc == nil {
		c.Alloc = memory.DefaultAllocator
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, errors.Join(faults...)
}
