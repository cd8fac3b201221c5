package lakehouse

import (
	"context"
	"errors"
	"io/fs"
	"reflect"
	"strconv"

	"microbatch/ident"
	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/sinks"
	"microbatch/table"
	"microbatch/table/action"
	"microbatch/table/translog"
)

// Commit puts one version of the log that holds the batch whole.
func (s *Sink) Commit(ctx context.Context, staged sinks.Pending) (sinks.Result, error) {
	p := staged.(*pending)
	r := s.rules(p.batch.ID, p.batch.Digest)
	t := s.opened()
	base := s.base(t, p)
	if p.sees != nil { // an older version than the newest seen may lack what came later
		r.last = min(r.last, visibleIn(base, r.id))
	}
	tried := p.unsure
	p.unsure = true
	snap, err := t.Commit(ctx, base, translog.Change{Info: s.info(p), Actions: s.actions(p), Reads: p.reads(), Sees: p.sees, Admit: r.admit})
	switch {
	case err == nil:
		s.see(p.batch.ID)
		return sinks.Result{Outcome: sinks.Committed, Version: snap.Version()}, nil
	case errors.Is(err, errAlready):
		if err := t.Log().Durable(ctx, t.Snapshot().State()); err != nil {
			return sinks.Result{Version: -1}, err
		}
		s.see(p.batch.ID)
		return sinks.Result{Outcome: sinks.AlreadyCommitted, Version: t.Snapshot().Version()}, s.drop(ctx, p, tried)
	case errcode.Has(err, errcode.TableConflict):
		p.unsure = false // every slot it was tried at is proven to hold another's entry
		return sinks.Result{Outcome: sinks.Conflict, Version: -1, Why: err}, nil
	case errcode.Has(err, errcode.TableFenced):
		p.unsure = false
		return sinks.Result{Outcome: sinks.Fenced, Version: -1, Why: err}, nil
	case errcode.Has(err, errcode.TableHole):
		return sinks.Result{Outcome: sinks.Fenced, Version: -1, Why: err}, nil
	case errcode.Has(err, errcode.TableUncertain):
		if bugs.Is(bugs.DeleteUnknown) {
			return sinks.Result{Outcome: sinks.Uncertain, Version: -1, Why: err}, discard(ctx, p.stage)
		}
		return sinks.Result{Outcome: sinks.Uncertain, Version: -1, Why: err}, nil
	}
	return sinks.Result{Version: -1}, err
}

// base is what the commit is first put behind: the newest version seen (maintenance may have made one since Prepare), unless the schema that the files
// were written in has changed, which the commit then meets as a conflict. A batch that was matched with the table's rows meets all that has come since on the way.
func (s *Sink) base(t *table.Table, p *pending) *table.Snapshot {
	if p.sees != nil {
		return p.snap
	}
	newest := t.Snapshot()
	was, is := p.snap.State(), newest.State()
	if reflect.DeepEqual(was.Metadata, is.Metadata) && reflect.DeepEqual(was.Protocol, is.Protocol) {
		return newest
	}
	return p.snap
}

// visibleIn is the newest batch of ours in a version.
func visibleIn(snap *table.Snapshot, id identity) ident.BatchID {
	if v, ok := snap.Txn(id.app); ok {
		return ident.BatchID(v)
	}
	return ident.NoBatch
}

// drop deletes the staged files of an attempt that was not needed: an earlier one is visible. Every slot that this one was tried at holds another's entry; only
// if it had been tried before (the same Pending twice) might it be the visible one itself.
func (s *Sink) drop(ctx context.Context, p *pending, tried bool) error {
	if tried || s.cfg.SweepOff {
		return nil
	}
	return discard(ctx, p.stage)
}

func (s *Sink) see(id ident.BatchID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last, id)
}

func (s *Sink) rules(id ident.BatchID, digest ident.Digest) rules {
	s.mu.Lock()
	defer s.mu.Unlock()
	return rules{query: s.query, id: identityOf(s.query, s.cfg.AppSuffix), url: s.cfg.URL, batch: id, digest: digest, undated: s.undated, last: s.last}
}

// actions are all of a batch's lines but the first. An empty batch has txns alone.
func (s *Sink) actions(p *pending) []action.Action {
	id := identityOf(s.query, s.cfg.AppSuffix)
	var out []action.Action
	if p.metadata != nil {
		out = append(out, action.Action{Metadata: p.metadata})
	}
	if !bugs.Is(bugs.SkipTxn) {
		out = append(out, s.txn(id.app, int64(p.batch.ID)), s.txn(id.digest, int64(p.batch.Digest.Stored(p.batch.ID))))
	}
	out = append(out, s.epochActions(id)...)
	now := s.cfg.Now().UnixMilli()
	for _, a := range p.replaced {
		out = append(out, action.Action{Remove: a.Tombstone(now, true)})
	}
	for _, a := range p.adds {
		out = append(out, action.Action{Add: a})
	}
	return out
}

// epochActions fence what is older.
func (s *Sink) epochActions(id identity) []action.Action {
	epoch := int64(s.query.Epoch)
	if bugs.Is(bugs.NoEpoch) {
		return []action.Action{s.txn(id.presence(), epoch)}
	}
	return []action.Action{s.txn(id.epoch, epoch), s.txn(id.presence(), epoch)}
}

func (s *Sink) txn(appID string, version int64) action.Action {
	return action.Action{Txn: &action.Txn{AppID: appID, Version: version, LastUpdated: s.cfg.Now().UnixMilli()}}
}

// info is the commit in words: what Spark's streaming sink writes, and ours.
func (s *Sink) info(p *pending) action.CommitInfo {
	if s.cfg.Merge.Mode != Append {
		return s.mergeInfo(p)
	}
	staged, id, blind := p.Staged(), int64(p.batch.ID), p.sees == nil
	info := action.CommitInfo{
		Operation: "STREAMING UPDATE",
		OperationParameters: map[string]any{
			"outputMode": "Append", "queryId": string(s.query.ID) + s.cfg.AppSuffix, "epochId": p.batch.ID.String(),
		},
		IsolationLevel: "Serializable", BlindAppend: &blind,
		OperationMetrics: map[string]string{
			"numRemovedFiles": "0", "numAddedFiles": strconv.Itoa(staged.Files),
			"numOutputRows": strconv.FormatInt(staged.Rows, 10), "numOutputBytes": strconv.FormatInt(staged.Bytes, 10),
		},
		Batch: s.batchInfo(&id, p.batch.Digest.String(), p.batch.Entry),
	}
	if s.cfg.Merge.keyed() {
		info.OperationMetrics["numDroppedRows"] = strconv.FormatInt(staged.Dropped, 10)
	}
	return info
}

func (s *Sink) batchInfo(id *int64, digest string, entry []byte) *action.BatchInfo {
	return &action.BatchInfo{
		Pipeline: s.query.Name, Query: string(s.query.ID), Shard: s.query.Shard.String(), Batch: id, Epoch: int64(s.query.Epoch),
		Entry: s.query.Entry.String(), Digest: digest, Offsets: string(entry),
	}
}

// Fence commits the epoch alone, so that nothing of an older one can land afterwards. Where there is no table there is nothing to fence.
func (s *Sink) Fence(ctx context.Context, q sinks.QueryInfo) error {
	t, err := s.open(ctx)
	if errors.Is(err, fs.ErrNotExist) && s.opened() == nil {
		return nil
	}
	if err == nil {
		err = t.Log().CheckWrite(t.Snapshot().State())
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.query, s.last = q, ident.NoBatch
	s.mu.Unlock()
	r := s.rules(ident.NoBatch, ident.Digest{})
	blind := true
	_, err = t.Commit(ctx, t.Snapshot(), translog.Change{
		Info: action.CommitInfo{
			Operation: "FENCE", OperationParameters: map[string]any{"queryId": r.id.app},
			IsolationLevel: "Serializable", BlindAppend: &blind, Batch: s.batchInfo(nil, "", nil),
		},
		Actions: s.epochActions(r.id), Admit: r.admit,
	})
	return err
}
