package lakehouse

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"microbatch/ident"
	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/sinks"
	"microbatch/table"
	"microbatch/table/action"
	"microbatch/table/datafile"
	"microbatch/table/translog"
)

// Sweep deletes the files that other attempts of a committed batch left, so that plain Parquet readers do not see them. Only files of this query, shard and
// batch are looked at, only in the partitions that the winner wrote to (each attempt of a batch has the same rows; if the pipeline has changed, in all), and
// only after the winner was read back from the log. Tables of format delta leave them to vacuum: their readers do not see them.
func (s *Sink) Sweep(ctx context.Context, b sinks.Intent) error {
	t := s.opened()
	if s.cfg.SweepOff || t == nil || t.Format() != translog.Parquet {
		return nil
	}
	id := identityOf(s.query, s.cfg.AppSuffix)
	winner, found, err := s.winner(ctx, t, id, b.ID)
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	dirs := map[string]bool{}
	if !found && !bugs.Is(bugs.SweepUnseen) { // summed up by a checkpoint: all that the log names stays, and the whole table is looked at
		if err := s.keepAll(ctx, t, id, b, keep); err != nil {
			return err
		}
		dirs[""] = true
	}
	wide := b.Changed || s.cfg.Merge.Mode != Append // which files are replaced depends on the table, so on the attempt
	if wide {
		dirs[""] = true
	}
	for _, a := range winner {
		key, err := datafile.Key(s.cfg.Store, a.Path)
		if err != nil {
			return err
		}
		keep[key] = true
		dirs[directoryOf(key)] = true
	}
	if dirs[""] && (!found || wide) {
		dirs = map[string]bool{"": true} // the whole table, once
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if err := s.sweepDirectory(ctx, dir, !found || wide, id.owner, b.ID, keep); err != nil {
			return err
		}
	}
	return nil
}

// winner are the adds of the version that holds a batch.
func (s *Sink) winner(ctx context.Context, t *table.Table, id identity, batch ident.BatchID) (adds []*action.Add, found bool, err error) {
	err = t.Log().History(ctx, func(c *translog.Commit) bool {
		for i := range c.Actions {
			if txn := c.Actions[i].Txn; txn != nil && txn.AppID == id.app {
				found = ident.BatchID(txn.Version) == batch
				if found {
					adds = addsOf(c.Actions)
				}
				return !found && ident.BatchID(txn.Version) > batch
			}
		}
		return true
	})
	return adds, found, err
}

func addsOf(actions []action.Action) (adds []*action.Add) {
	for i := range actions {
		if actions[i].Add != nil {
			adds = append(adds, actions[i].Add)
		}
	}
	return adds
}

// keepAll marks every file that the log still names, after making sure that the batch is in it, or never will be.
func (s *Sink) keepAll(ctx context.Context, t *table.Table, id identity, b sinks.Intent, keep map[string]bool) error {
	files, err := t.Log().Files(ctx, translog.Latest)
	if err != nil {
		return err
	}
	if v, ok := files.State.Txn(id.app); (!ok || ident.BatchID(v) < b.ID) && !b.Lost {
		return errcode.TableLog.New(s.cfg.URL, "batch %s of query %s is not in the log, so nothing is swept", b.ID, id.app)
	}
	for key := range files.Live {
		k, err := datafile.Key(s.cfg.Store, key.Path)
		if err != nil {
			return err
		}
		keep[k] = true
	}
	for key := range files.Removed {
		k, err := datafile.Key(s.cfg.Store, key.Path)
		if err != nil {
			return err
		}
		keep[k] = true
	}
	return nil
}

func directoryOf(key string) string {
	if dir := path.Dir(key); dir != "." {
		return dir + "/"
	}
	return ""
}

func (s *Sink) sweepDirectory(ctx context.Context, dir string, deep bool, owner datafile.Owner, batch ident.BatchID, keep map[string]bool) error {
	prefix := dir + datafile.PrefixPart + "-"
	if deep {
		prefix = ""
	}
	var dead []string
	for info, err := range s.cfg.Store.List(ctx, prefix, "") {
		if err != nil {
			return fmt.Errorf("list %s/%s: %w", s.cfg.URL, dir, err)
		}
		if keep[info.Key] || !datafile.Wrote(info.Key, owner, batch) {
			continue
		}
		dead = append(dead, info.Key)
	}
	// Durably: once the batch is recorded nobody looks for them again.
	if err := objstore.Remove(ctx, s.cfg.Store, dead); err != nil {
		return fmt.Errorf("sweep %s: %w", s.cfg.URL, err)
	}
	return nil
}
