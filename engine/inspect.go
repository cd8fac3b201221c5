package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"microbatch/checkpointlog"
	"microbatch/ident"
	"microbatch/objstore"
)

// Inspection is what stands in a checkpoint, for people and scripts. It is read without lock and writes nothing.
type Inspection struct {
	QueryID      ident.QueryID     `json:"queryId"`
	LowWatermark ident.BatchID     `json:"lowWatermark"` // -1: nothing was purged
	Offsets      IDRange           `json:"offsets"`
	Commits      IDRange           `json:"commits"`
	Pending      *ident.BatchID    `json:"pending"` // the batch that is fixed and not done; null if there is none
	Timestamp    string            `json:"batchTimestamp,omitempty"`
	Ends         []json.RawMessage `json:"endOffsets,omitempty"` // of the newest batch, by source
	Fingerprint  string            `json:"fingerprint,omitempty"`
	Delivery     string            `json:"delivery,omitempty"` // "at_most_once" if the newest batch is recorded before it is committed
	Epoch        ident.Epoch       `json:"epoch"`              // the newest; 0 if none was claimed
	Started      string            `json:"started,omitempty"`
	Host         string            `json:"host,omitempty"`
	Pipeline     string            `json:"pipeline,omitempty"`
	Learned      map[string]string `json:"learned,omitempty"`
	// Problems are what a start would refuse, as far as the checkpoint alone tells.
	Problems []string `json:"problems"`
}

// IDRange is the ids of a log.
type IDRange struct {
	First ident.BatchID `json:"first"` // -1 if the log is empty
	Last  ident.BatchID `json:"last"`
	Count int           `json:"count"`
}

// Inspect reads the checkpoint in the root of the store.
func Inspect(ctx context.Context, store objstore.Store) (Inspection, error) {
	c := checkpointlog.NewCheckpoint(store)
	in := Inspection{Problems: []string{}}
	var err error
	if in.QueryID, err = c.QueryID(ctx); err != nil {
		if _, torn := errors.AsType[checkpointlog.Damaged](err); !torn {
			return in, err
		}
		in.Problems = append(in.Problems, err.Error())
	}
	if err := in.readEpoch(ctx, c); err != nil {
		return in, err
	}
	logs, err := c.ReadLogs(ctx)
	if err != nil {
		in.Problems = append(in.Problems, err.Error())
	}
	in.LowWatermark, in.Offsets, in.Commits = logs.LowWatermark, idRange(logs.Offsets), idRange(logs.Commits)
	if in.QueryID == "" && in.Offsets.Count+in.Commits.Count > 0 {
		in.Problems = append(in.Problems, "metadata is missing or damaged")
	}
	if err != nil {
		return in, nil
	}
	if _, err := checkpointlog.Recover(logs, checkpointlog.Visible{Exempt: true}, nil, true); err != nil {
		in.Problems = append(in.Problems, err.Error())
	}
	in.readLast(logs)
	return in, nil
}

func (in *Inspection) readLast(logs checkpointlog.Logs) {
	if logs.Last == nil {
		return
	}
	if in.Commits.Last < logs.Last.ID {
		in.Pending = &logs.Last.ID
	}
	in.Timestamp, in.Fingerprint = logs.Last.Offsets.Timestamp.Format(time.RFC3339Nano), logs.Last.Offsets.Fingerprint()
	if logs.Last.Offsets.AtMostOnce() {
		in.Delivery = AtMostOnce.String()
	}
	for _, end := range logs.Last.Offsets.Ends {
		in.Ends = append(in.Ends, rawOffset(end))
	}
}

func (in *Inspection) readEpoch(ctx context.Context, c *checkpointlog.Checkpoint) error {
	newest, err := c.NewestEpoch(ctx)
	if err != nil || newest == 0 {
		return err
	}
	in.Epoch = newest
	e, err := c.ReadEpoch(ctx, newest)
	switch _, torn := errors.AsType[checkpointlog.Damaged](err); {
	case torn, errors.Is(err, fs.ErrNotExist):
		in.Problems = append(in.Problems, err.Error())
		return nil
	case err != nil:
		return fmt.Errorf("inspect: %w", err)
	}
	in.Started, in.Host, in.Pipeline, in.Learned = e.Started, e.Host, e.Pipeline, e.Learned
	return nil
}

func idRange(ids []ident.BatchID) IDRange {
	if len(ids) == 0 {
		return IDRange{First: ident.NoBatch, Last: ident.NoBatch}
	}
	return IDRange{First: ids[0], Last: ids[len(ids)-1], Count: len(ids)}
}
