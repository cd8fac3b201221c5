package files

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/checkpointlog"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/schema"
	"microbatch/sources"
)

// compactInterval is how often a new seen-log is compacted, as in Spark.
const compactInterval = 10

// Source reads each file once.
type Source struct {
	config  Config
	root    root
	pattern pattern
	density density

	mu      sync.Mutex
	own     objstore.Store
	log     *checkpointlog.CompactLog
	seen    *seenSet
	tail    int64            // the newest entry; ahead of the log only before Pin
	entries map[int64][]file // entries in use, until they are released
	pinned  bool
	purge   bool // the log was compacted since it was purged

	backlog  []file    // listed and in no entry, in the order of plans
	listed   time.Time // when the backlog was listed
	frozen   bool      // the backlog is the end of everything
	noticed  int       // files that changed after they were read
	declared *arrow.Schema
	output   *arrow.Schema
	inferred bool // declared was inferred
}

// New makes the source. An error lists all that is wrong with the configuration.
func New(config Config) (*Source, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("files source: %w", err)
	}
	at, rootErr := newRoot(config.Root)
	p, globErr := compileGlob(config.Glob)
	if err := errors.Join(rootErr, globErr); err != nil {
		return nil, fmt.Errorf("files source: %w", err)
	}
	return &Source{config: config, root: at, pattern: p, tail: -1, declared: config.Schema}, nil
}

// Describe is the configuration for the fingerprint, and an inferred schema.
func (s *Source) Describe() ident.Description {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := ident.Description{
		Kind:      "files",
		Name:      "FileStreamSource[" + s.root.uri(s.config.Glob) + "]",
		Identity:  map[string]any{"root": s.config.Root},
		Evolution: map[string]any{"glob": s.config.Glob, "format": s.config.Format.Kind()},
	}
	if s.config.Schema != nil {
		d.Evolution["schema"] = schema.FormatDDL(s.config.Schema)
	}
	if s.inferred {
		d.Learned = map[string]string{"schema": schema.FormatDDL(s.declared)}
	}
	return d
}

// Open reads the seen-log, finds the schema and looks whether the files' place answers.
func (s *Source) Open(ctx context.Context, own objstore.Store) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own, s.pinned = own, false
	if err := s.load(ctx); err != nil {
		return err
	}
	if err := s.answers(ctx); err != nil {
		return err
	}
	if err := s.findSchema(ctx); err != nil {
		return err
	}
	output, err := s.config.Format.Output(s.declared)
	if err != nil {
		return fmt.Errorf("files source: %w", err)
	}
	s.output = output
	return nil
}

// load reads the seen-log anew and forgets what was only in memory. Every entry has a file and every line says of which entry it is, so an entry that was emptied, or stands in the
// place of another, is noticed: its files would not be known, and come again.
func (s *Source) load(ctx context.Context) error {
	seen, at := newSeenSet(), int64(-1)
	log, err := checkpointlog.OpenCompact(ctx, s.own, compactInterval, func(text []byte) error {
		f, id, err := parseLine(s.root, text)
		if err == nil && id != at && id != at+1 {
			return errcode.SeenLogDamaged.New("", "line %.80q is of entry %d, but stands behind entry %d", text, id, at)
		}
		at = id
		seen.add(f)
		return err
	})
	if err == nil && at != log.Last() {
		err = errcode.SeenLogDamaged.New(s.own.URL(), "the newest entry is %d, but the newest line is of entry %d", log.Last(), at)
	}
	if err != nil {
		return seenLogError(err)
	}
	s.log, s.seen, s.tail, s.entries = log, seen, log.Last(), map[int64][]file{}
	s.dropSeen()
	return nil
}

// reach reads the log anew if it must be longer than what is known: a driver that we have just fenced may have made its last entry after we read.
func (s *Source) reach(ctx context.Context, id int64) error {
	if id <= s.tail || !s.pinned {
		return nil
	}
	if err := s.load(ctx); err != nil {
		return err
	}
	if err := s.log.Sync(ctx); err != nil {
		return fmt.Errorf("files source: %w", err)
	}
	return nil
}

// Pin makes an inferred schema durable, and the newest entry of the seen-log, which another process may have left half done.
func (s *Source) Pin(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	behind, err := s.log.Behind(ctx)
	if err != nil {
		return seenLogError(err)
	}
	if behind || s.tail > s.log.Last() { // another driver came between Open and the claim, or there were plans in memory
		if err := s.load(ctx); err != nil {
			return err
		}
	}
	if err := s.log.Sync(ctx); err != nil {
		return fmt.Errorf("files source: %w", err)
	}
	if err := s.pinSchema(ctx); err != nil {
		return err
	}
	s.pinned = true
	return nil
}

// KeepsLog: which files were seen stands in the source's place of the checkpoint alone.
func (s *Source) KeepsLog() bool { return true }

// Schema is the schema of the rows.
func (s *Source) Schema() *arrow.Schema {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.output
}

// Plan returns the entry after from, and makes it if it is not there yet. Limits are kept by whole files: Files and Bytes (of the stored files) exactly,
// Rows by the mean row size so far; one file is always taken.
func (s *Source) Plan(ctx context.Context, from ident.Offset, limit sources.Limit) (sources.Planned, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, err := parseOffset(from)
	if err != nil {
		return sources.Planned{}, err
	}
	if err := s.reach(ctx, at); err != nil {
		return sources.Planned{}, err
	}
	if at > s.tail {
		return sources.Planned{}, errcode.SeenLogBehind.New(s.own.URL(), "the offset is %s, but the newest entry is %d", from, s.tail)
	}
	if at == s.tail {
		if err := s.advance(ctx, limit); err != nil {
			return sources.Planned{}, err
		}
	}
	behind := s.density.rows(s.backlog)
	if at == s.tail {
		return sources.Planned{To: from, Available: from, Behind: behind}, nil
	}
	entry, err := s.entry(ctx, at+1)
	if err != nil {
		return sources.Planned{}, err
	}
	return sources.Planned{To: formatOffset(at + 1), Available: formatOffset(s.tail), Rows: s.density.rows(entry), Behind: behind}, nil
}

// Freeze lists what there is now, and nothing else will be planned.
func (s *Source) Freeze(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen {
		return nil
	}
	if err := s.list(ctx, 0); err != nil {
		return err
	}
	s.frozen = true
	return nil
}

// Splits shares the work on the files of the entries after from up to to: each split takes the next piece that nobody has.
func (s *Source) Splits(ctx context.Context, from, to ident.Offset, _ map[string]string, want int) ([]sources.Split, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, err := parseOffset(from)
	if err != nil {
		return nil, err
	}
	last, err := parseOffset(to)
	if err != nil {
		return nil, err
	}
	if err := s.reach(ctx, last); err != nil {
		return nil, err
	}
	if last > s.tail || last < first {
		return nil, errcode.SeenLogBehind.New(s.own.URL(), "the range is %q to %q, but the newest entry is %d", from, to, s.tail)
	}
	var planned []file
	for id := first + 1; id <= last; id++ {
		entry, err := s.entry(ctx, id)
		if err != nil {
			return nil, err
		}
		planned = append(planned, entry...)
	}
	if planned, err = s.complete(ctx, planned); err != nil {
		return nil, err
	}
	return newWork(s, planned).splits(want), nil
}

// Release forgets the files of entries up to upTo, except that they were seen, and purges the log.
func (s *Source) Release(ctx context.Context, upTo ident.Offset) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, err := parseOffset(upTo)
	if err != nil {
		return err
	}
	for id := range s.entries {
		if id <= at && s.pinned {
			delete(s.entries, id)
		}
	}
	if !s.purge {
		return nil
	}
	if err := s.log.Purge(ctx); err != nil {
		return fmt.Errorf("files source: %w", err)
	}
	s.purge = false
	return nil
}

// Close has nothing to close: the stores belong to who made them.
func (s *Source) Close() error { return nil }
