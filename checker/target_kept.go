package checker

import (
	"context"
	"fmt"
)

// judgeKept verifies the batches that a Keeper still tells of: they are whole, rise by one where it lists them all, and have the digests of the checkpoint's entries.
func (t *TargetWatcher) judgeKept(ctx context.Context) error {
	keeper, ok := t.in.Target.(Keeper)
	if !ok || t.last == nil {
		return nil
	}
	query := t.log.in.Query
	if query == "" {
		query = t.log.query.query
	}
	all, err := keeper.Batches(ctx, query, t.in.Progress)
	if err != nil {
		return fmt.Errorf("checker: batches of query %s: %w", query, err)
	}
	r := t.log.report
	for n := range all {
		b := &all[n]
		t.rows[b.Batch] = b.Rows
		r.checked(Files, 1)
		for _, f := range b.Faults {
			r.broken(Files, b.Place, "%s", f)
		}
		t.compareDigest(b.Position)
		if n > 0 {
			t.judgeNext(&all[n-1], b)
		}
	}
	return nil
}

// judgeNext verifies that a batch may follow another.
func (t *TargetWatcher) judgeNext(before, b *Kept) {
	r := t.log.report
	r.checked(Epoch, 1)
	if b.Epoch < before.Epoch {
		r.broken(Epoch, b.Place, "epoch %d has committed batch %d, and epoch %d batch %d before it", b.Epoch, b.Batch, before.Epoch, before.Batch)
	}
	if !before.Listed || !b.Listed {
		return
	}
	r.checked(Txn, 1)
	for id := before.Batch + 1; id < b.Batch; id++ {
		if !t.atMostOnce[id] {
			r.broken(Txn, b.Place, "batch %d follows batch %d: batch %d is missing", b.Batch, before.Batch, id)
			return
		}
		t.lost[id] = true
	}
}
