package lakehouse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/sinks"
	"microbatch/table/translog"
)

// EntryText finds the text of the checkpoint's offsets/<id> in the log: each batch's commit carries it in words, with its digest.
func (s *Sink) EntryText(ctx context.Context, q sinks.QueryInfo, id ident.BatchID) ([]byte, error) {
	t, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	app := identityOf(q, s.cfg.AppSuffix).app
	var text []byte
	var version int64
	err = t.Log().History(ctx, func(c *translog.Commit) bool {
		for i := range c.Actions {
			if txn := c.Actions[i].Txn; txn == nil || txn.AppID != app || txn.Version > int64(id) {
				continue
			} else if txn.Version < int64(id) {
				return false // batches ascend: further down it cannot be
			}
			if c.Info != nil && c.Info.Batch != nil {
				text, version = []byte(c.Info.Batch.Offsets), c.Version
			}
			return false
		}
		return true
	})
	switch {
	case err != nil:
		return nil, err
	case len(text) == 0:
		return nil, fmt.Errorf("log of %s: text of batch %d: %w", s.cfg.URL, id, fs.ErrNotExist)
	}
	return text, s.checkText(t.Snapshot().State(), q, id, text, version)
}

// checkText holds the text against the digest that the newest batch's txn has.
func (s *Sink) checkText(state *translog.State, q sinks.QueryInfo, id ident.BatchID, text []byte, version int64) error {
	names := identityOf(q, s.cfg.AppSuffix)
	newest, ok := state.Txn(names.app)
	if digest, has := state.Txn(names.digest); ok && has && newest == int64(id) && ident.StoredDigest(digest) != ident.DigestOf(text).Stored(id) {
		return errcode.RepairImpossible.Wrap(errors.New("the text does not have the digest that was committed with it"), fmt.Sprintf("%s version %d", s.cfg.URL, version), "batch %d", id)
	}
	return nil
}
