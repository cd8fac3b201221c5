package query

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"microbatch/internal/duck"
	"microbatch/internal/errcode"
	"microbatch/table/datafile"
)

// ownView is a table that our own reader reads.
type ownView struct {
	table *opened
	view  *duck.View
}

func (s *Session) addOwn(ctx context.Context, o *opened) error {
	v, err := s.conn.Register(ctx, o.name, o.schema)
	if err != nil {
		return errcode.QueryTable.Wrap(err, o.name, "cannot be a view")
	}
	s.own = append(s.own, &ownView{table: o, view: v})
	return nil
}

// serve lets each reading of the view, in queries that end with ctx, read the files by several goroutines: only the columns that it wants, in any order
// of the files. All end with the reading.
func (v *ownView) serve(ctx context.Context, o Options) {
	v.view.Serve(func(columns []string) (func() (arrow.RecordBatch, error), func()) {
		ctx, cancel := context.WithCancel(ctx)
		r := &datafile.Reader{Store: v.table.store, Schema: v.table.choose(columns), PartitionBy: v.table.partitionBy, Alloc: o.Alloc}
		records, failure := make(chan arrow.RecordBatch), error(nil)
		g, reading := errgroup.WithContext(ctx)
		var turn atomic.Int64
		for range min(o.Threads, len(v.table.files)) {
			g.Go(func() error { return v.readFiles(reading, r, &turn, records) })
		}
		go func() {
			failure = g.Wait()
			close(records)
		}()
		next := func() (arrow.RecordBatch, error) {
			rec, ok := <-records
			if !ok {
				return nil, failure
			}
			return rec, nil
		}
		done := func() {
			cancel()
			for rec := range records {
				rec.Release()
			}
		}
		return next, done
	})
}

// readFiles reads one file after another that no other goroutine has taken.
func (v *ownView) readFiles(ctx context.Context, r *datafile.Reader, turn *atomic.Int64, records chan<- arrow.RecordBatch) error {
	for {
		i := int(turn.Add(1)) - 1
		if i >= len(v.table.files) {
			return nil
		}
		for rec, err := range r.Read(ctx, v.table.files[i]) {
			if err != nil {
				return err
			}
			select {
			case records <- rec:
			case <-ctx.Done():
				rec.Release()
				return ctx.Err()
			}
		}
	}
}

// choose is the schema of some columns, in their order.
func (o *opened) choose(columns []string) *arrow.Schema {
	fields := make([]arrow.Field, len(columns))
	for i, name := range columns {
		at := slices.IndexFunc(o.schema.Fields(), func(f arrow.Field) bool { return strings.EqualFold(f.Name, name) })
		fields[i] = o.schema.Field(at)
	}
	return arrow.NewSchema(fields, nil)
}
