package checkpointlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"microbatch/ident"
	"microbatch/internal/bugs"
)

const epochDir = "_engine/epoch/"

// epochsKept is how many entries of claimed epochs stay: they are the history of starts.
const epochsKept = 100

// Epoch is the content of _engine/epoch/<e>: who claimed it, and what its pipeline was.
type Epoch struct {
	Epoch       ident.Epoch       `json:"epoch"`
	Entry       string            `json:"entry"`
	Started     string            `json:"started"` // RFC 3339, for people
	Host        string            `json:"host,omitempty"`
	Pipeline    string            `json:"pipeline"`
	Shard       string            `json:"shard,omitempty"`
	Identity    map[string]any    `json:"identity"`  // may not change over the life of a query
	Evolution   map[string]any    `json:"evolution"` // may change while no batch is pending
	Fingerprint string            `json:"fingerprint"`
	Learned     map[string]string `json:"learned,omitempty"`
}

// Epochs are the claimed epochs, ascending.
func (c *Checkpoint) Epochs(ctx context.Context) ([]ident.Epoch, error) {
	ns, err := c.listNumbers(ctx, epochDir)
	out := make([]ident.Epoch, len(ns))
	for i, n := range ns {
		out[i] = ident.Epoch(n)
	}
	return out, err
}

// NewestEpoch is the highest claimed epoch; 0 if none was.
func (c *Checkpoint) NewestEpoch(ctx context.Context) (ident.Epoch, error) {
	all, err := c.Epochs(ctx)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	return all[len(all)-1], nil
}

// ReadEpoch reads the entry of an epoch.
func (c *Checkpoint) ReadEpoch(ctx context.Context, e ident.Epoch) (Epoch, error) {
	key := epochDir + e.String()
	data, err := c.Store.Get(ctx, key)
	if err != nil {
		return Epoch{}, fmt.Errorf("read %s: %w", key, err)
	}
	var out Epoch
	if err := Unseal(data, &out); err != nil {
		return Epoch{}, Damaged{key, err}
	}
	return out, nil
}

// Claim puts entry under the first free epoch above the claimed ones and above floor (the epoch found in the sink), and returns the epoch.
// Losing a race for one number is no error: the next is tried, because the newest wins. Each claim deletes the oldest entries beyond those that are kept: a query
// that is started often and finds nothing to do has no batch after which it would purge.
func (c *Checkpoint) Claim(ctx context.Context, floor ident.Epoch, run ident.RunID, entry Epoch) (ident.EntryID, error) {
	all, err := c.Epochs(ctx)
	if err != nil {
		return ident.EntryID{}, err
	}
	var newest ident.Epoch
	if len(all) > 0 {
		newest = all[len(all)-1]
	}
	if bugs.Is(bugs.ForgetSinkEpoch) {
		floor = 0
	}
	for e := max(newest, floor) + 1; ; e++ {
		if e < 0 { // nobody starts so often: a number beyond all others was put there to keep every driver out
			return ident.EntryID{}, Damaged{epochDir, fmt.Errorf("no epoch can follow %d, which stands here or in the sink", max(newest, floor))}
		}
		id := ident.EntryID{Epoch: e, Run: run}
		entry.Epoch, entry.Entry = e, id.String()
		data, err := Seal(entry)
		if err != nil {
			return ident.EntryID{}, err
		}
		err = c.Store.PutIfAbsent(ctx, epochDir+e.String(), data)
		if err == nil || bugs.Is(bugs.SharedEpoch) && errors.Is(err, fs.ErrExist) {
			if len(all) >= epochsKept {
				_ = c.keepNewest(ctx, epochDir, epochsKept) // what it leaves, the next claim takes
			}
			return id, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return ident.EntryID{}, fmt.Errorf("claim epoch %d: %w", e, err)
		}
	}
}
