package postgres

import (
	"encoding/hex"
	"errors"
	"fmt"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/sinks"
)

// errAlready ends a transaction whose batch is in the table.
var errAlready = errors.New("the batch is visible already")

// rules decide whether a batch may follow a position. They hold no I/O.
type rules struct {
	query  sinks.QueryInfo
	place  string        // of messages
	batch  ident.BatchID // ident.NoBatch: an epoch alone
	digest ident.Digest
	last   ident.BatchID // the newest of ours that was seen before
}

// admit is asked under the lock (G1): our own batch first, then the epoch, then what else cannot be (G2).
func (r rules) admit(p Position, found bool) error {
	mine := r.batch != ident.NoBatch && found && p.Batch == r.batch
	switch {
	case mine && p.Digest == r.digest.String():
		return errAlready
	case p.Epoch > r.query.Epoch:
		return errcode.TableFenced.New(r.place, "the position holds epoch %d, this driver has %d", p.Epoch, r.query.Epoch)
	case mine:
		return errcode.TableForeignBatch.New(r.place, "batch %s of query %s is visible with another digest: it covers other offsets than this one", r.batch, r.query.ID)
	case !found && r.batch != ident.NoBatch:
		return errcode.PostgresPosition.New(r.place, "query %s has no row in %s any more", r.query.ID, positionsTable)
	case r.batch != ident.NoBatch && p.Batch > r.batch:
		return errcode.TableAhead.New(r.place, "the table holds batch %s of query %s, this is batch %s", p.Batch, r.query.ID, r.batch)
	case p.Batch < r.last:
		return errcode.PostgresPosition.New(r.place, "batch %s of query %s was visible, now it is %s", r.last, r.query.ID, p.Batch)
	}
	return nil
}

// digestOf reads a digest of the table.
func digestOf(text string) (d ident.Digest, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(d) {
		return d, fmt.Errorf("the digest %q is not 64 hexadecimal digits", text)
	}
	copy(d[:], raw)
	return d, nil
}
