package kafka

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"microbatch/internal/errcode"
	"microbatch/schema"
)

// How much of the topics is looked at to infer a schema.
const (
	sampleRows  = 1000
	sampleBytes = 4 << 20
)

// findSchema takes the declared schema, or the pinned one, or infers one from the first messages.
func (s *Source) findSchema(ctx context.Context) error {
	if s.config.Schema != nil {
		s.values = s.config.Schema
		return nil
	}
	pinned, err := s.readSchema(ctx)
	if err == nil {
		if s.values, err = schema.ParseDDL(pinned.DDL); err != nil {
			return errcode.KafkaOffsetUnreadable.Wrap(err, "sources/<n>/"+schemaKey, "the pinned schema")
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("kafka: pinned schema: %w", err)
	}
	sample, err := s.sample(ctx)
	if err != nil {
		return err
	}
	if len(sample) == 0 {
		return errcode.KafkaNothingToInfer.New("", "the topics hold no messages to infer a schema from")
	}
	if s.values, err = s.config.Format.Infer(sample); err != nil {
		return errcode.KafkaNothingToInfer.Wrap(err, "", "no schema can be inferred from the first %d messages", len(sample))
	}
	s.inferred = true
	return nil
}

// sample reads the first messages that the query will read, or if there are none yet the last before them.
func (s *Source) sample(ctx context.Context) ([][]byte, error) {
	earliest, err := s.offsetsAt(ctx, s.around, everywhere(atEarliest), s.config.Isolation)
	if err != nil {
		return nil, err
	}
	latest, err := s.offsetsAt(ctx, s.around, everywhere(atLatest), s.config.Isolation)
	if err != nil {
		return nil, err
	}
	var ahead, behind []lane
	for name, last := range latest.all {
		first := earliest[name.topic][name.partition].offset
		from := max(s.initial[name.topic][name.partition], first)
		id := s.around.ids[name.topic]
		if from < last.offset {
			ahead = append(ahead, lane{name: name, id: id, from: from, to: min(last.offset, from+sampleRows)})
		} else if first < last.offset {
			behind = append(behind, lane{name: name, id: id, from: max(first, last.offset-sampleRows), to: last.offset})
		}
	}
	if values, err := s.peek(ctx, ahead); err != nil || len(values) > 0 {
		return values, err
	}
	return s.peek(ctx, behind)
}

// peek reads up to a sample's worth of values.
func (s *Source) peek(ctx context.Context, lanes []lane) ([][]byte, error) {
	f := newFeed(s, lanes, s.around)
	defer f.close()
	var values [][]byte
	size := 0
	for len(values) < sampleRows && size < sampleBytes {
		sl, err := f.take(ctx, 0)
		if err != nil || sl == nil {
			return values, err
		}
		records, err := s.parse(sl, nil)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			if r.Value != nil && len(values) < sampleRows {
				values = append(values, r.Value)
				size += len(r.Value)
			}
		}
	}
	return values, nil
}
