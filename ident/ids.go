package ident

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// BatchID numbers the batches of a query: 0, 1, 2, ... without holes. Spelled in decimal, without padding.
type BatchID int64

// NoBatch stands for "no batch yet".
const NoBatch BatchID = -1

// String is the name of the batch's entry in the checkpoint logs.
func (b BatchID) String() string { return strconv.FormatInt(int64(b), 10) }

// Epoch is the driver's fencing number: each start of a query claims a higher one, and the newest wins.
type Epoch int64

// String is the name of the epoch's entry in the checkpoint.
func (e Epoch) String() string { return strconv.FormatInt(int64(e), 10) }

// QueryID is the stable identity of a query: the id in the checkpoint's metadata, and the table log's appId.
type QueryID string

// RunID is fresh at each start of a driver.
type RunID string

// NewRunID draws a run id of 64 random bits in hex.
func NewRunID() RunID { return RunID(randomHex(8)) }

// Attempt is fresh at each try of a batch. It names staged files and nothing else.
type Attempt string

// NewAttempt draws an attempt id of 64 random bits in hex.
func NewAttempt() Attempt { return Attempt(randomHex(8)) }

// EntryID says which run of which epoch wrote a log entry. A put whose answer was lost is ours if and only if
// the stored entry id is ours; equal bytes are never proof.
type EntryID struct {
	Epoch Epoch
	Run   RunID
}

// String is "<epoch>.<run id>".
func (e EntryID) String() string { return e.Epoch.String() + "." + string(e.Run) }

// IsZero reports whether no entry id was stored, as in an entry that Spark wrote.
func (e EntryID) IsZero() bool { return e == EntryID{} }

// ParseEntryID reads the form of EntryID.String.
func ParseEntryID(s string) (EntryID, error) {
	epoch, run, ok := strings.Cut(s, ".")
	n, err := strconv.ParseInt(epoch, 10, 64)
	if !ok || err != nil || n < 0 || run == "" {
		return EntryID{}, fmt.Errorf("entry id %q: want <epoch>.<run id>", s)
	}
	return EntryID{Epoch: Epoch(n), Run: RunID(run)}, nil
}

// Shard says which of several processes this one is, when a query is split over them. The zero value is a query that is not split.
type Shard struct {
	Index int // from 0
	Count int // 0 or 1: not split
}

// String is "<index>of<count>", or "" for a query that is not split.
func (s Shard) String() string {
	if s.Count <= 1 {
		return ""
	}
	return fmt.Sprintf("%dof%d", s.Index, s.Count)
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails: crypto/rand crashes the program instead
	return hex.EncodeToString(b)
}
