package datafile

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// A spilled message has so many rows or bytes: its overhead is paid per message.
const (
	messageRows  = 4096
	messageBytes = 1 << 20
)

// pending collects small records into larger ones.
type pending struct {
	alloc memory.Allocator
	recs  []arrow.RecordBatch
	rows  int64
	bytes int64
}

// add keeps a copy of a record, and reports whether it is time to take. It is a copy because a piece is a few rows of a large record, whose memory would
// be held for as long as the piece waits for others of its kind.
func (p *pending) add(rec arrow.RecordBatch) (full bool, err error) {
	columns := make([]arrow.Array, 0, rec.NumCols())
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for _, c := range rec.Columns() {
		copied, err := array.Concatenate([]arrow.Array{c}, p.alloc)
		if err != nil {
			return false, fmt.Errorf("datafile: copy rows: %w", err)
		}
		columns = append(columns, copied)
		p.bytes += bytesOf(copied.Data())
	}
	own := array.NewRecordBatch(rec.Schema(), columns, rec.NumRows())
	p.recs = append(p.recs, own)
	p.rows += own.NumRows()
	return p.rows >= messageRows || p.bytes >= messageBytes, nil
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
	p.recs, p.rows, p.bytes = nil, 0, 0
}

// bytesOf is the length of an array's buffers.
func bytesOf(d arrow.ArrayData) (n int64) {
	for _, b := range d.Buffers() {
		if b != nil {
			n += int64(b.Len())
		}
	}
	for _, c := range d.Children() {
		n += bytesOf(c)
	}
	return n
}
