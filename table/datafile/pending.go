package datafile

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// enoughRows is how many rows are worth a write of their own: page and message overheads are paid per write.
const enoughRows = 4096

// pending collects small records into larger ones.
type pending struct {
	alloc memory.Allocator
	recs  []arrow.RecordBatch
	rows  int64
}

// add keeps a record (the caller keeps its own reference) and reports whether it is time to take.
func (p *pending) add(rec arrow.RecordBatch) (full bool) {
	if rec.NumRows() == 0 {
		return false
	}
	rec.Retain()
	p.recs = append(p.recs, rec)
	p.rows += rec.NumRows()
	return p.rows >= enoughRows
}

// take is everything collected as one record, nil if there is nothing. The caller releases it.
func (p *pending) take() (arrow.RecordBatch, error) {
	defer p.drop()
	switch len(p.recs) {
	case 0:
		return nil, nil
	case 1:
		p.recs[0].Retain()
		return p.recs[0], nil
	}
	columns := make([]arrow.Array, 0, p.recs[0].NumCols())
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for i := range int(p.recs[0].NumCols()) {
		pieces := make([]arrow.Array, len(p.recs))
		for j, r := range p.recs {
			pieces[j] = r.Column(i)
		}
		column, err := array.Concatenate(pieces, p.alloc)
		if err != nil {
			return nil, fmt.Errorf("datafile: join records: %w", err)
		}
		columns = append(columns, column)
	}
	return array.NewRecordBatch(p.recs[0].Schema(), columns, p.rows), nil
}

// drop forgets everything.
func (p *pending) drop() {
	for _, r := range p.recs {
		r.Release()
	}
	p.recs, p.rows = nil, 0
}
