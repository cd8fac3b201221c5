package datafile

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// Place is a partition of a stage that is written to by name: its records do not have the partition columns. Rows of different places are never in one file.
type Place struct {
	stage *Stage
	key   string
}

// Place adds a place. dir is below the table, with a slash at its end, "" for the table itself; values are those of the partition columns.
func (s *Stage) Place(dir string, values map[string]*string) *Place {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &Place{stage: s, key: fmt.Sprintf("place %d", len(s.parts))} // as no partition is called: keyEncoder begins with a length or a small number
	s.parts[p.key] = &partition{dir: dir, values: values, named: true}
	return p
}

// Write stages the rows of a record, which stays the caller's.
func (p *Place) Write(ctx context.Context, rec arrow.RecordBatch) error {
	if rec.NumRows() == 0 {
		return nil
	}
	if err := p.stage.count(rec); err != nil {
		return err
	}
	return p.stage.route(ctx, piece{key: p.key, rec: rec, bucket: none})
}

// End completes the place's files, which are not written to any more.
func (p *Place) End(ctx context.Context) error {
	return p.stage.endAll(ctx, func(key string) bool { return key == p.key })
}
