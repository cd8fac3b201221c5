package engine

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/batch"
	"microbatch/ident"
	"microbatch/objstore"
)

// Preview is what a first or next batch would hold: rows until enough were shown. Nothing is written anywhere, nothing is claimed, and a running driver is not disturbed.
type Preview struct {
	Schema *arrow.Schema
	Ranges []ident.Range
	Rows   int64
	// Rejected are rows that would not decode, as far as they were met.
	Rejected []batch.Rejected
}

// previewRejected bounds the rejected rows that a preview keeps.
const previewRejected = 20

// DryRun opens the query, plans one batch from where the checkpoint stands, and hands its first rows to show, which does not keep them. It closes the components.
func (q Query) DryRun(ctx context.Context, rows int64, show func(arrow.RecordBatch)) (p Preview, err error) {
	q = q.withDefaults()
	if err := q.Validate(); err != nil {
		return p, err
	}
	defer func() {
		if cerr := q.close(); err == nil {
			err = cerr
		}
	}()
	d := newDriver(q)
	own := func(n int) objstore.Store { return &scratch{Store: d.checkpoint.Source(n), own: map[string][]byte{}} }
	if err := openSources(ctx, d.q, own, d.retrying); err != nil {
		return p, err
	}
	if d.local.in, d.local.schemas, err = schemas(d.q); err != nil {
		return p, err
	}
	if err := d.lastRecorded(ctx); err != nil {
		return p, err
	}
	if d.q.Limit.Rows == 0 || d.q.Limit.Rows > rows {
		d.q.Limit.Rows = rows
	}
	from := d.ends()
	plans, planned, err := planAll(ctx, d.q, from)
	if err != nil {
		return p, err
	}
	work := Work{ID: 0, Attempt: ident.NewAttempt(), Timestamp: d.q.Now().UTC(), Rows: planned}
	for n, plan := range plans {
		work.Ranges = append(work.Ranges, ident.Range{From: from[n], To: plan.To, Aux: plan.Aux})
	}
	p.Ranges = work.Ranges
	err = d.local.preview(ctx, work, rows, show, &p)
	return p, err
}

// lastRecorded finds where the next batch starts.
func (d *driver) lastRecorded(ctx context.Context) error {
	logs, err := d.checkpoint.ReadLogs(ctx)
	if err != nil {
		return damaged(err)
	}
	d.last = logs.Last
	if n := len(logs.Commits); logs.Last != nil && (n == 0 || logs.Commits[n-1] < logs.Last.ID) {
		d.last = logs.Previous // the pending batch is what would run
	}
	return nil
}

// preview pulls the parts one after another until enough rows were shown.
func (l *local) preview(ctx context.Context, work Work, rows int64, show func(arrow.RecordBatch), p *Preview) (err error) {
	q := *l.q
	q.OnError, q.MaxRejected = DropRows, Ceiling{}
	x := &execution{local: l, work: work, rejects: newRejects(&q, work)}
	x.rejects.keepFirst = previewRejected
	defer x.closeOperators(&err)
	streams, err := x.read(ctx)
	if err == nil {
		streams, err = x.transform(ctx, streams)
	}
	if err != nil {
		return err
	}
	p.Schema = x.outSchema()
	for _, s := range streams {
		for c, err := range s(ctx) {
			if err != nil {
				return err
			}
			if c.Record != nil { // a chunk may hold rejected rows alone
				record := c.Record.NewSlice(0, min(c.Rows(), rows-p.Rows))
				p.Rows += record.NumRows()
				show(record)
				record.Release()
			}
			c.Release()
			if p.Rows >= rows {
				break
			}
		}
		if p.Rows >= rows {
			break
		}
	}
	p.Rejected = x.rejects.firsts
	return nil
}

// scratch is a store whose writes go to memory and vanish: what a source notes down while it plans is seen by itself alone.
type scratch struct {
	objstore.Store
	mu  sync.Mutex
	own map[string][]byte
}

func (s *scratch) Get(ctx context.Context, key string) ([]byte, error) {
	s.mu.Lock()
	data, ok := s.own[key]
	s.mu.Unlock()
	if ok {
		return bytes.Clone(data), nil
	}
	return s.Store.Get(ctx, key)
}

func (s *scratch) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	if _, err := s.Get(ctx, key); err == nil {
		return fmt.Errorf("put %s: %w", key, fs.ErrExist)
	}
	return s.Put(ctx, key, data)
}

func (s *scratch) Put(_ context.Context, key string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own[key] = bytes.Clone(data)
	return nil
}

func (s *scratch) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.own, key)
	return nil
}

func (s *scratch) Sync(context.Context, string) error { return nil }

func (s *scratch) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		all := map[string]objstore.Info{}
		for info, err := range s.Store.List(ctx, prefix, after) {
			if err != nil {
				yield(info, err)
				return
			}
			all[info.Key] = info
		}
		s.mu.Lock()
		for key, data := range s.own {
			if strings.HasPrefix(key, prefix) && key > after {
				all[key] = objstore.Info{Key: key, Size: int64(len(data))}
			}
		}
		s.mu.Unlock()
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if !yield(all[key], nil) {
				return
			}
		}
	}
}
