package postgres

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/batch"
	"microbatch/codec"
	"microbatch/internal/errcode"
)

// partEncoder turns the rows of one part into pieces for COPY.
type partEncoder struct {
	*pending
	encoders
	part  int
	row   int64 // in the part
	buf   []byte
	full  chan<- []byte // pieces to send
	spare <-chan []byte // their memory, when they are sent
}

// pull encodes the part to its end.
func (e *partEncoder) pull(ctx context.Context, part batch.Part) error {
	for chunk, err := range part.Chunks(ctx) {
		if err != nil {
			return err
		}
		if chunk.Record != nil {
			err = e.record(ctx, chunk.Record)
		}
		chunk.Release()
		if err != nil {
			return err
		}
	}
	if len(e.buf) > 0 {
		return e.flush(ctx)
	}
	return ctx.Err()
}

// record encodes the rows of a record.
func (e *partEncoder) record(ctx context.Context, r arrow.RecordBatch) error {
	defer e.release()
	writers := make([]writer, r.NumCols())
	for i := range writers {
		w, err := e.writer(r.Column(i), e.work.Fields[i].sent)
		if err != nil {
			return errcode.PostgresTable.Wrap(err, "", "column %s", r.ColumnName(i))
		}
		writers[i] = w
	}
	rejected := int64(0)
	for row := range int(r.NumRows()) {
		if len(e.buf) == 0 {
			e.buf = append(e.begin(), copyHeader...)
		}
		at := len(e.buf)
		if column, why := e.append(r, writers, row); why != "" {
			e.buf = e.buf[:at]
			rejected++
			if err := e.reject(r, row, column, why); err != nil {
				return err
			}
		}
		e.row++
		if len(e.buf) >= copyBytes {
			if err := e.flush(ctx); err != nil {
				return err
			}
		}
	}
	e.rows.Add(r.NumRows() - rejected)
	return nil
}

// append encodes one row. why says what PostgreSQL cannot hold of it, and in which column.
func (e *partEncoder) append(r arrow.RecordBatch, writers []writer, row int) (column int, why string) {
	e.buf = binary.BigEndian.AppendUint16(e.buf, uint16(len(writers)))
	for i, write := range writers {
		if r.Column(i).IsNull(row) {
			if e.work.Fields[i].Key {
				return i, "it is null, and the column is part of the key"
			}
			e.buf = appendNull(e.buf)
			continue
		}
		if e.buf, why = write(e.buf, row); why != "" {
			return i, why
		}
	}
	return 0, ""
}

// begin is memory for a piece.
func (e *partEncoder) begin() []byte {
	select {
	case b := <-e.spare:
		return b
	default:
		return nil // it grows as it has to, and is used again
	}
}

// flush hands the piece over to be sent.
func (e *partEncoder) flush(ctx context.Context) error {
	select {
	case e.full <- append(e.buf, copyTrailer...):
		e.buf = nil
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reject hands over a row that PostgreSQL cannot hold: which ones those are depends on the row and on the configuration alone.
func (e *partEncoder) reject(r arrow.RecordBatch, row, column int, why string) error {
	code := errcode.RowMisfit.ID
	if e.work.Fields[column].Key && r.Column(column).IsNull(row) {
		code = errcode.RowNull.ID
	}
	reason := (&codec.Reject{Code: code, Column: r.ColumnName(column), Detail: why}).Error()
	position := fmt.Sprintf("batch %s, part %d, row %d", e.batch.ID, e.part, e.row)
	if e.batch.Reject == nil {
		return errcode.PostgresRefused.New(position, "%s", reason)
	}
	encoder, err := e.json(r.Schema())
	if err != nil {
		return err
	}
	raw, err := encoder.AppendRow(nil, r, row)
	if err != nil {
		return err
	}
	e.batch.Reject(batch.Rejected{Position: position, Reason: reason, Raw: raw[:min(len(raw), batch.MaxRaw)]})
	return nil
}
