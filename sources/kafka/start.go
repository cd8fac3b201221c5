package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"microbatch/checkpointlog"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/schema"
)

// Names of the source's own files.
const (
	initialKey = "0"
	schemaKey  = "schema"
)

// initialHead precedes the initial position: the zero byte is a habit of Spark 2.1, whose readers skip one byte.
const initialHead = "\x00v1\n"

// findInitial reads the initial position, or resolves it in memory if there is none yet.
func (s *Source) findInitial(ctx context.Context, c cluster) error {
	data, err := s.own.Get(ctx, initialKey)
	switch {
	case err == nil:
		s.initial, err = readInitial(data)
		s.pinned = err == nil
		return err
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("kafka: initial position: %w", err)
	}
	s.initial, err = s.resolve(ctx, c)
	return err
}

func readInitial(data []byte) (position, error) {
	if len(data) == 0 {
		return nil, errcode.KafkaOffsetUnreadable.New("sources/<n>/"+initialKey, "the initial position is an empty file")
	}
	rest := data[1:]
	if version, json, ok := bytes.Cut(rest, []byte("\n")); ok && bytes.HasPrefix(rest, []byte("v")) {
		if string(version) != "v1" {
			return nil, errcode.KafkaOffsetUnreadable.New("sources/<n>/"+initialKey, "version %.20q, want v1", version)
		}
		rest = json
	}
	p, err := parsePosition(ident.Offset(rest))
	if err != nil {
		return nil, fmt.Errorf("sources/<n>/%s: %w", initialKey, err)
	}
	return p, nil
}

// resolve finds where a fresh query begins.
func (s *Source) resolve(ctx context.Context, c cluster) (position, error) {
	start := s.config.Start
	if err := start.covers(c); err != nil {
		return nil, err
	}
	earliest, err := s.offsetsAt(ctx, c, everywhere(atEarliest), s.config.Isolation)
	if err != nil {
		return nil, err
	}
	latest, err := s.offsetsAt(ctx, c, everywhere(atLatest), s.config.Isolation)
	if err != nil {
		return nil, err
	}
	wanted := earliest
	switch {
	case start.Latest:
		wanted = latest
	case !start.Timestamp.IsZero():
		if wanted, err = s.offsetsAt(ctx, c, everywhere(start.Timestamp.UnixMilli()), s.config.Isolation); err != nil {
			return nil, err
		}
	case start.Offsets != nil:
		wanted = start.marks()
	}
	p := position{}
	for name, m := range wanted.all {
		first, last := earliest[name.topic][name.partition].offset, latest[name.topic][name.partition].offset
		switch m.offset {
		case atLatest: // also: nothing is as late as the timestamp
			m.offset = last
		case atEarliest:
			m.offset = first
		}
		if m.offset < first || m.offset > last {
			return nil, errcode.KafkaBadStart.New(name.String(), "the start offset %d is not within [%d, %d]", m.offset, first, last)
		}
		p.set(name.topic, name.partition, m.offset)
	}
	return p, nil
}

func (s Start) marks() byPartition[mark] {
	m := byPartition[mark]{}
	for topic, partitions := range s.Offsets {
		for partition, offset := range partitions {
			m.set(topic, partition, mark{offset, -1})
		}
	}
	return m
}

// covers checks that explicit offsets name each partition once.
func (s Start) covers(c cluster) error {
	if s.Offsets == nil {
		return nil
	}
	var faults []string
	for name := range c.leaders.all {
		if _, ok := s.Offsets[name.topic][name.partition]; !ok {
			faults = append(faults, name.String()+" has none")
		}
	}
	for name := range byPartition[int64](s.Offsets).all {
		if _, ok := c.leaders.get(name.topic, name.partition); !ok {
			faults = append(faults, name.String()+" does not exist")
		}
	}
	if len(faults) > 0 {
		return errcode.KafkaBadStart.New("", "start offsets: %s", strings.Join(faults, ", "))
	}
	return nil
}

// Pin makes the initial position durable, and an inferred schema first: whoever finds the position finds the schema too. If another driver was
// first, its position counts.
func (s *Source) Pin(ctx context.Context) error {
	s.mu.Lock()
	initial, pinned, inferred := s.initial, s.pinned, s.inferred
	s.mu.Unlock() // nobody waits for a lock while the store is asked
	if inferred {
		if err := s.pinSchema(ctx); err != nil {
			return err
		}
	}
	initial, err := s.pinInitial(ctx, initial, pinned)
	if err != nil {
		return fmt.Errorf("kafka: pin the initial position: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.initial, s.pinned, s.inferred = initial, true, false
	return nil
}

// pinInitial returns the position that counts: ours, or the one that another driver has pinned meanwhile. Whoever wrote it may have been killed before it was
// durable.
func (s *Source) pinInitial(ctx context.Context, ours position, pinned bool) (position, error) {
	if pinned {
		return ours, s.own.Sync(ctx, initialKey)
	}
	err := s.own.PutIfAbsent(ctx, initialKey, append([]byte(initialHead), text(ours)...))
	if !errors.Is(err, fs.ErrExist) {
		return ours, err
	}
	data, err := s.own.Get(ctx, initialKey)
	if err != nil {
		return nil, err
	}
	theirs, err := readInitial(data)
	if err != nil {
		return nil, err
	}
	return theirs, s.own.Sync(ctx, initialKey)
}

// pinnedSchema is the content of the schema file.
type pinnedSchema struct {
	DDL string `json:"ddl"`
}

func (s *Source) pinSchema(ctx context.Context) error {
	ours := pinnedSchema{schema.FormatDDL(s.values)}
	data, err := checkpointlog.Seal(ours)
	if err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	err = s.own.PutIfAbsent(ctx, schemaKey, data)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	theirs, err := s.readSchema(ctx)
	if err != nil {
		return err
	}
	if theirs.DDL != ours.DDL {
		return fmt.Errorf("kafka: another driver has pinned the schema %s, here %s was inferred: start again", theirs.DDL, ours.DDL)
	}
	return nil
}

func (s *Source) readSchema(ctx context.Context) (pinnedSchema, error) {
	var p pinnedSchema
	data, err := s.own.Get(ctx, schemaKey)
	if err != nil {
		return p, err
	}
	if err := checkpointlog.Unseal(data, &p); err != nil {
		return p, errcode.KafkaOffsetUnreadable.Wrap(err, "sources/<n>/"+schemaKey, "the pinned schema")
	}
	return p, nil
}
