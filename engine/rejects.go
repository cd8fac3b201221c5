package engine

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"microbatch/batch"
	"microbatch/internal/errcode"
	"microbatch/sinks"
)

// rejectsInMemory is how many bytes of rejected rows are held before they go to a temporary file.
const rejectsInMemory = 8 << 20

// rejects collects the rejected rows of one attempt, from all parts at once: first in columns, beyond a limit in a temporary file of Arrow IPC.
type rejects struct {
	q    *Query
	work Work

	mu    sync.Mutex
	n     int64
	first *batch.Rejected
	// firsts are the first keepFirst rows, for a preview.
	firsts    []batch.Rejected
	keepFirst int
	err       error
	builder   *array.RecordBuilder
	bytes     int
	spill     *os.File
	writer    *ipc.Writer
}

func newRejects(q *Query, work Work) *rejects { return &rejects{q: q, work: work} }

// count is how many rows were rejected so far.
func (r *rejects) count() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

// one takes a row from the sink.
func (r *rejects) one(row batch.Rejected) { _ = r.add([]batch.Rejected{row}) } // the error is kept for firstError

// firstError is the error of an earlier add.
func (r *rejects) firstError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// add takes rows as on_error says. An error ends the batch.
func (r *rejects) add(rows []batch.Rejected) error {
	if len(rows) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == nil {
		r.first = &batch.Rejected{Position: rows[0].Position, Reason: rows[0].Reason}
	}
	r.n += int64(len(rows))
	r.firsts = append(r.firsts, rows[:min(len(rows), max(0, r.keepFirst-len(r.firsts)))]...)
	if r.err == nil {
		r.err = r.keep(rows)
	}
	return r.err
}

func (r *rejects) keep(rows []batch.Rejected) error {
	switch {
	case r.q.OnError == FailQuery:
		return errcode.RejectedRow.New(rows[0].Position, "%s", rows[0].Reason)
	case r.q.MaxRejected.Rows > 0 && r.n > r.q.MaxRejected.Rows:
		return r.tooMany(fmt.Sprintf("more than %d rows are rejected", r.q.MaxRejected.Rows))
	case r.q.OnError == DropRows:
		return nil
	}
	if r.builder == nil {
		r.builder = array.NewRecordBuilder(r.q.Alloc, batch.RejectedSchema())
	}
	for _, row := range rows {
		r.append(row)
	}
	if r.bytes > rejectsInMemory {
		return r.toFile()
	}
	return nil
}

func (r *rejects) append(row batch.Rejected) {
	r.builder.Field(0).(*array.Int64Builder).Append(int64(r.work.ID))
	r.builder.Field(1).(*array.TimestampBuilder).Append(arrow.Timestamp(r.work.Timestamp.UnixMicro()))
	r.builder.Field(2).(*array.StringBuilder).Append(row.Position)
	r.builder.Field(3).(*array.StringBuilder).Append(row.Reason)
	r.builder.Field(4).(*array.BinaryBuilder).Append(row.Raw)
	r.bytes += len(row.Position) + len(row.Reason) + len(row.Raw) + 64
}

// toFile moves what is in memory to the temporary file, which has no name any more: it goes with the process.
func (r *rejects) toFile() error {
	if r.spill == nil {
		f, err := os.CreateTemp("", "microbatch-rejects-")
		if err != nil {
			return errcode.SpoolFailed.Wrap(err, "", "rejected rows")
		}
		if err := os.Remove(f.Name()); err != nil {
			return errcode.SpoolFailed.Wrap(err, "", "rejected rows")
		}
		r.spill, r.writer = f, ipc.NewWriter(f, ipc.WithSchema(batch.RejectedSchema()), ipc.WithAllocator(r.q.Alloc))
	}
	record := r.builder.NewRecordBatch()
	defer record.Release()
	r.bytes = 0
	if err := r.writer.Write(record); err != nil {
		return errcode.SpoolFailed.Wrap(err, "", "rejected rows")
	}
	return nil
}

func (r *rejects) tooMany(what string) error {
	return errcode.TooManyRejected.New("batch "+r.work.ID.String(), "%s; the first at %s: %s", what, r.first.Position, r.first.Reason)
}

// checkCeiling compares the share of rejected rows with the ceiling.
func (r *rejects) checkCeiling(read int64) error {
	share := r.q.MaxRejected.Share
	if share > 0 && float64(r.n) > share*float64(read) {
		return r.tooMany(fmt.Sprintf("%d of %d rows are rejected, more than %g %%", r.n, read, share*100))
	}
	return nil
}

// prepare stages the rejected rows in their own sink; nil if there are none to keep.
func (r *rejects) prepare(ctx context.Context, x *execution) (sinks.Pending, error) {
	if r.n == 0 || r.q.OnError != RejectRows {
		return nil, nil
	}
	b := x.batchOf(batch.RejectedSchema(), []stream{r.stream})
	p, err := r.q.Rejected.Prepare(ctx, b)
	if err != nil {
		return nil, fmt.Errorf("prepare rejected rows: %w", err)
	}
	return p, nil
}

// stream yields the rows in the file, then those in memory.
func (r *rejects) stream(context.Context) batch.Stream {
	return func(yield func(batch.Chunk, error) bool) {
		if r.spill != nil && !r.readFile(yield) {
			return
		}
		if record := r.builder.NewRecordBatch(); record.NumRows() > 0 {
			yield(batch.Chunk{Record: record}, nil)
		} else {
			record.Release()
		}
	}
}

func (r *rejects) readFile(yield func(batch.Chunk, error) bool) bool {
	fail := func(err error) bool {
		yield(batch.Chunk{}, errcode.SpoolFailed.Wrap(err, "", "rejected rows"))
		return false
	}
	if err := r.writer.Close(); err != nil {
		return fail(err)
	}
	if _, err := r.spill.Seek(0, 0); err != nil {
		return fail(err)
	}
	in, err := ipc.NewReader(r.spill, ipc.WithAllocator(r.q.Alloc))
	if err != nil {
		return fail(err)
	}
	defer in.Release()
	for in.Next() {
		record := in.RecordBatch()
		record.Retain()
		if !yield(batch.Chunk{Record: record}, nil) {
			return false
		}
	}
	if err := in.Err(); err != nil {
		return fail(err)
	}
	return true
}

// close frees memory and file.
func (r *rejects) close() {
	if r.builder != nil {
		r.builder.Release()
	}
	if r.spill != nil {
		r.spill.Close()
	}
}
