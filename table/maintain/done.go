package maintain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"microbatch/table/translog"
)

// Done says when upkeep was done last. It is kept beside the log, in a file that readers pass over: a query that is started for a minute every hour has to
// know that its files are due, and several queries on one table share the work.
type Done struct {
	Optimized time.Time `json:"optimized"`
	Cleaned   time.Time `json:"cleaned"`
}

func doneKey(log *translog.Log) string { return log.Format().Dir() + "_maintained" }

// LoadDone reads when upkeep was done; where nothing is known, it counts from now.
func LoadDone(ctx context.Context, log *translog.Log, now time.Time) (Done, error) {
	key := doneKey(log)
	data, err := log.Store().Get(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		d := Done{Optimized: now, Cleaned: now}
		return d, d.Save(ctx, log)
	}
	if err != nil {
		return Done{}, fmt.Errorf("read %s: %w", key, err)
	}
	var d Done
	if json.Unmarshal(data, &d) != nil { // it only paces the work: torn, it counts from now
		d = Done{Optimized: now, Cleaned: now}
	}
	return d, nil
}

// PutRight makes a time that is still to come now: a clock that was ahead has noted it. It reports whether there was one.
func (d *Done) PutRight(now time.Time) (changed bool) {
	for _, at := range []*time.Time{&d.Optimized, &d.Cleaned} {
		if at.After(now) {
			*at, changed = now, true
		}
	}
	return changed
}

// Save writes it.
func (d Done) Save(ctx context.Context, log *translog.Log) error {
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if err := log.Store().Put(ctx, doneKey(log), append(data, '\n')); err != nil {
		return fmt.Errorf("put %s: %w", doneKey(log), err)
	}
	return nil
}
