package orders

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/batch"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/sources"
)

// Source is the source of order events.
type Source struct {
	config Config
	g      *generator
	schema *arrow.Schema

	mu     sync.Mutex
	began  time.Time // of the first plan; zero before
	base   int64     // where that plan began
	freeze bool      // Freeze was called
	frozen int64     // where it ended everything; -1 before the next plan
}

// New makes the source. An error lists all that is wrong with the configuration.
func New(config Config) (*Source, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("orders source: %w", err)
	}
	return &Source{config: config, g: newGenerator(config.Seed), schema: Schema(), frozen: -1}, nil
}

// Describe is the configuration for the fingerprint. The pace and the total are limits, not identity.
func (s *Source) Describe() ident.Description {
	return ident.Description{
		Kind:     "orders",
		Name:     fmt.Sprintf("Orders[seed %d]", s.config.Seed),
		Identity: map[string]any{"seed": strconv.FormatUint(s.config.Seed, 10), "start": s.config.Start.UTC().Format(time.RFC3339Nano)},
	}
}

// Open has nothing to connect to.
func (s *Source) Open(context.Context, objstore.Store) error { return nil }

// Pin has nothing to make durable: the initial position is always 0.
func (s *Source) Pin(context.Context) error { return nil }

// Schema is the schema of the events.
func (s *Source) Schema() *arrow.Schema { return s.schema }

// Plan takes what has become available by the pace, within the limits.
func (s *Source) Plan(_ context.Context, from ident.Offset, limit sources.Limit) (sources.Planned, error) {
	start, err := parseOffset(from)
	if err != nil {
		return sources.Planned{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	available := max(start, s.available(start))
	end := available
	if limit.Rows > 0 {
		end = min(end, start+limit.Rows)
	}
	if limit.Bytes > 0 {
		end = min(end, start+max(1, limit.Bytes/bytesPerEvent))
	}
	to := formatOffset(end)
	if end == start {
		to = from
	}
	return sources.Planned{To: to, Available: formatOffset(available), Rows: end - start, Behind: available - end}, nil
}

// bytesPerEvent is about what an event takes in memory, for limits in bytes.
const bytesPerEvent = 100

// available is the end of what there is now.
func (s *Source) available(from int64) int64 {
	switch {
	case s.freeze && s.frozen < 0 && s.config.Total > 0:
		s.frozen = s.config.Total
	case s.freeze && s.frozen < 0:
		s.frozen = min(s.paced(from), maxEvents)
	case !s.freeze && s.config.Total > 0:
		return min(s.paced(from), s.config.Total)
	case !s.freeze:
		return min(s.paced(from), maxEvents)
	}
	return s.frozen
}

// paced is where the pace has come to. The first second's events are there at once.
func (s *Source) paced(from int64) int64 {
	if s.config.RowsPerSecond == 0 {
		return s.config.Total
	}
	now := s.config.Now()
	if s.began.IsZero() {
		s.began, s.base = now, from
	}
	seconds := now.Sub(s.began).Seconds() + 1
	return s.base + int64(min(seconds*float64(s.config.RowsPerSecond), maxEvents))
}

// Freeze ends everything at Total, whatever the pace; an endless source ends at what is available at the next plan.
func (s *Source) Freeze(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.freeze = true
	return nil
}

// Splits divides the range evenly.
func (s *Source) Splits(_ context.Context, from, to ident.Offset, _ map[string]string, want int) ([]sources.Split, error) {
	start, err := parseOffset(from)
	if err != nil {
		return nil, err
	}
	end, err := parseOffset(to)
	if err != nil {
		return nil, err
	}
	if end < start {
		return nil, errcode.OffsetForeign.New("", "orders: the range ends at %d before it begins at %d", end, start)
	}
	shares := max(1, min(int64(want), (end-start+batch.TargetRows-1)/batch.TargetRows))
	splits := make([]sources.Split, shares)
	for i := range shares {
		splits[i] = &split{source: s, from: start + (end-start)*i/shares, to: start + (end-start)*(i+1)/shares, all: end - start}
	}
	return splits, nil
}

// Release has nothing to forget.
func (s *Source) Release(context.Context, ident.Offset) error { return nil }

// Close has nothing to close.
func (s *Source) Close() error { return nil }

// split is the events [from, to) of a range of all events.
type split struct {
	source   *Source
	from, to int64
	all      int64
	covered  int64
}

// Records generates the events.
func (p *split) Records(ctx context.Context) batch.Stream {
	return func(yield func(batch.Chunk, error) bool) {
		c := newColumns(p.source.g, p.source.config.Start.UnixMicro(), p.source.schema, p.source.config.Alloc)
		defer c.release()
		for at := p.from; at < p.to; {
			if err := ctx.Err(); err != nil {
				yield(batch.Chunk{}, err)
				return
			}
			end := min(p.to, at+batch.TargetRows)
			p.covered = end - p.from
			if !yield(batch.Chunk{Record: c.record(at, end)}, nil) {
				return
			}
			at = end
		}
	}
}

// Reached is how many events were generated.
func (p *split) Reached() sources.Position {
	return sources.Position{Rows: p.covered, Units: []sources.Unit{{Name: "orders", Want: p.all, Covered: p.covered}}}
}

func parseOffset(o ident.Offset) (int64, error) {
	if o == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(o), 10, 64)
	if err != nil || n < 0 || string(o) != strconv.FormatInt(n, 10) {
		return 0, errcode.OffsetForeign.New("", "orders: offset %.40q is not a number of events", o)
	}
	return n, nil
}

func formatOffset(n int64) ident.Offset { return ident.Offset(strconv.FormatInt(n, 10)) }
