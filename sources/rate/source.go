package rate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/sources"
)

// Config configures the source.
type Config struct {
	RowsPerSecond int64            // at least 1
	Start         time.Time        // of second 0; zero: when the query is started for the first time
	Alloc         memory.Allocator // nil: Go's heap
	Now           func() time.Time // nil: time.Now
}

// Source is the source of counted rows.
type Source struct {
	config Config
	schema *arrow.Schema
	own    objstore.Store

	mu     sync.Mutex
	start  int64 // ms since 1970
	pinned bool
	frozen int64 // the second that ends everything; -1 while not frozen
}

// pinKey holds the start in sources/<n>/.
const pinKey = "0"

// New makes the source.
func New(config Config) (*Source, error) {
	if config.RowsPerSecond < 1 || config.RowsPerSecond > 1e9 {
		return nil, fmt.Errorf("rate source: rows_per_second is %d, not within 1..10^9", config.RowsPerSecond)
	}
	if config.Alloc == nil {
		config.Alloc = memory.DefaultAllocator
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Source{config: config, schema: Schema(), frozen: -1}, nil
}

// Schema is the schema of the rows: timestamp TIMESTAMP, value BIGINT.
func Schema() *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{
		{Name: "timestamp", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true},
		{Name: "value", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	}, nil)
}

// Describe is the configuration for the fingerprint. The pace is identity: with another one the same offsets would hold other rows.
func (s *Source) Describe() ident.Description {
	return ident.Description{
		Kind:     "rate",
		Name:     fmt.Sprintf("Rate[%d rows per second]", s.config.RowsPerSecond),
		Identity: map[string]any{"rows_per_second": s.config.RowsPerSecond},
	}
}

// Open reads the pinned start, or takes the configured one, or now.
func (s *Source) Open(ctx context.Context, own objstore.Store) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own = own
	data, err := own.Get(ctx, pinKey)
	switch {
	case err == nil:
		s.start, err = parsePin(data)
		if err != nil {
			return errcode.PinDamaged.Wrap(err, own.URL()+"/"+pinKey, "")
		}
		s.pinned = true
	case errors.Is(err, fs.ErrNotExist):
		s.start = s.config.Now().UnixMilli()
		if !s.config.Start.IsZero() {
			s.start = s.config.Start.UnixMilli()
		}
	default:
		return fmt.Errorf("rate source: read the start: %w", err)
	}
	return nil
}

// Pin makes the start durable.
func (s *Source) Pin(ctx context.Context) error {
	s.mu.Lock()
	pinned, data := s.pinned, fmt.Appendf(nil, "v1\n%d", s.start)
	s.mu.Unlock()
	if pinned {
		return s.own.Sync(ctx, pinKey)
	}
	err := s.own.PutIfAbsent(ctx, pinKey, data)
	if errors.Is(err, fs.ErrExist) { // another driver was first: its start counts
		if err = s.own.Sync(ctx, pinKey); err == nil {
			return s.Open(ctx, s.own)
		}
	}
	if err != nil {
		return fmt.Errorf("rate source: pin the start: %w", err)
	}
	s.mu.Lock()
	s.pinned = true
	s.mu.Unlock()
	return nil
}

func parsePin(data []byte) (int64, error) {
	version, ms, ok := strings.Cut(string(data), "\n")
	if !ok || version != "v1" {
		return 0, fmt.Errorf("want v1 and a number of milliseconds on two lines, have %.60q", data)
	}
	return strconv.ParseInt(ms, 10, 64)
}

// Schema is the schema of the rows.
func (s *Source) Schema() *arrow.Schema { return s.schema }

// Plan takes whole seconds up to now, within the limits but at least one.
func (s *Source) Plan(_ context.Context, from ident.Offset, limit sources.Limit) (sources.Planned, error) {
	first, err := s.parseOffset(from)
	if err != nil {
		return sources.Planned{}, err
	}
	s.mu.Lock()
	available := max(first, s.available())
	s.mu.Unlock()
	perSecond := s.config.RowsPerSecond
	end := available
	if limit.Rows > 0 {
		end = min(end, first+max(1, limit.Rows/perSecond))
	}
	if limit.Bytes > 0 {
		end = min(end, first+max(1, limit.Bytes/bytesPerRow/perSecond))
	}
	to := formatOffset(end)
	if end == first {
		to = from
	}
	return sources.Planned{To: to, Available: formatOffset(available), Rows: (end - first) * perSecond, Behind: (available - end) * perSecond}, nil
}

// bytesPerRow is what a row takes in memory.
const bytesPerRow = 16

// available is how many whole seconds have passed; never more than can be counted.
func (s *Source) available() int64 {
	if s.frozen >= 0 {
		return s.frozen
	}
	return max(0, min((s.config.Now().UnixMilli()-s.start)/1000, s.maxSeconds()))
}

func (s *Source) maxSeconds() int64 { return math.MaxInt64 / 4000 / s.config.RowsPerSecond }

// Freeze ends everything now.
func (s *Source) Freeze(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = s.available()
	return nil
}

// Splits divides the values of the range evenly.
func (s *Source) Splits(_ context.Context, from, to ident.Offset, _ map[string]string, want int) ([]sources.Split, error) {
	first, err := s.parseOffset(from)
	if err != nil {
		return nil, err
	}
	end, err := s.parseOffset(to)
	if err != nil {
		return nil, err
	}
	if end < first {
		return nil, errcode.OffsetForeign.New("", "rate: the range ends at %d before it begins at %d", end, first)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	low, rows := first*s.config.RowsPerSecond, (end-first)*s.config.RowsPerSecond
	shares := max(1, min(int64(want), (rows+batch.MaxRows-1)/batch.MaxRows))
	each := rows / shares
	splits := make([]sources.Split, shares)
	for i := range shares {
		share := &split{source: s, start: s.start, from: low + each*i, to: low + each*(i+1), all: rows}
		if i == shares-1 {
			share.to = low + rows
		}
		splits[i] = share
	}
	return splits, nil
}

// Release has nothing to forget.
func (s *Source) Release(context.Context, ident.Offset) error { return nil }

// Close has nothing to close.
func (s *Source) Close() error { return nil }

func (s *Source) parseOffset(o ident.Offset) (int64, error) {
	if o == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(o), 10, 64)
	if err != nil || n < 0 || n > s.maxSeconds() || string(o) != strconv.FormatInt(n, 10) {
		return 0, errcode.OffsetForeign.New("", "rate: offset %.40q is not a number of seconds", o)
	}
	return n, nil
}

func formatOffset(n int64) ident.Offset { return ident.Offset(strconv.FormatInt(n, 10)) }
