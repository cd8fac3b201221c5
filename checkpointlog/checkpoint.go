package checkpointlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"microbatch/ident"
	"microbatch/objstore"
)

// Checkpoint is the checkpoint of one query.
type Checkpoint struct {
	Store   objstore.Store
	Offsets Log
	Commits Log
}

// NewCheckpoint is the checkpoint in the root of the store.
func NewCheckpoint(store objstore.Store) *Checkpoint {
	return &Checkpoint{store, NewLog(store, "offsets"), NewLog(store, "commits")}
}

// Source is the place of source n.
func (c *Checkpoint) Source(n int) objstore.Store {
	return objstore.Prefix(c.Store, fmt.Sprintf("sources/%d", n))
}

var queryIDForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// QueryID reads metadata; "" if there is none.
func (c *Checkpoint) QueryID(ctx context.Context) (ident.QueryID, error) {
	data, err := c.Store.Get(ctx, "metadata")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read metadata: %w", err)
	}
	var m struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return "", Damaged{"metadata", err}
	}
	if !queryIDForm.MatchString(m.ID) {
		return "", Damaged{"metadata", fmt.Errorf("id %.60q is no UUID", m.ID)}
	}
	return ident.QueryID(m.ID), nil
}

// CreateQueryID writes metadata with the given id, or a new one if id is "", unless it is there; it returns the id that counts.
func (c *Checkpoint) CreateQueryID(ctx context.Context, id ident.QueryID) (ident.QueryID, error) {
	if id == "" {
		id = ident.QueryID(uuid.NewString())
	}
	err := c.Store.PutIfAbsent(ctx, "metadata", fmt.Appendf(nil, `{"id":"%s"}`, id))
	if errors.Is(err, fs.ErrExist) {
		return c.QueryID(ctx)
	}
	return id, err
}

// Damaged is a file of the checkpoint that cannot be what it should be.
type Damaged struct {
	Key string
	Err error
}

// Error names the file and what is wrong.
func (d Damaged) Error() string { return d.Key + " is damaged: " + d.Err.Error() }

// Unwrap is what is wrong.
func (d Damaged) Unwrap() error { return d.Err }

// listNumbers lists a directory of ours whose names are numbers.
func (c *Checkpoint) listNumbers(ctx context.Context, dir string) ([]int64, error) {
	var out []int64
	for info, err := range c.Store.List(ctx, dir, "") {
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", dir, err)
		}
		if n, ok := parseName(strings.TrimPrefix(info.Key, dir)); ok {
			out = append(out, int64(n))
		}
	}
	slices.Sort(out)
	return out, nil
}
