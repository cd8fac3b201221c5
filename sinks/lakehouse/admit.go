package lakehouse

import (
	"errors"

	"microbatch/ident"
	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/sinks"
	"microbatch/table/translog"
)

// errAlready ends a commit whose batch is visible.
var errAlready = errors.New("the batch is visible already")

// rules decide whether a commit may follow a state of the table. They hold no I/O.
type rules struct {
	query   sinks.QueryInfo
	id      identity
	url     string
	batch   ident.BatchID // ident.NoBatch: an epoch alone
	digest  ident.Digest
	undated ident.BatchID // this batch is taken for ours although it has no digest
	last    ident.BatchID // the newest of ours that was seen before
}

// admit is asked for each state that the commit would follow: our own batch first, then the epoch, then what else cannot be.
func (r rules) admit(s *translog.State) error {
	visible := ident.NoBatch
	if v, ok := s.Txn(r.id.app); ok {
		visible = ident.BatchID(v)
	}
	same := error(nil)
	if r.batch != ident.NoBatch && visible == r.batch {
		if same = r.same(s); errors.Is(same, errAlready) {
			return same
		}
	}
	if epoch, ok := s.Txn(r.id.epoch); ok && ident.Epoch(epoch) > r.query.Epoch {
		return errcode.TableFenced.New(r.place(), "version %d holds epoch %d, this driver has %d", s.Version, epoch, r.query.Epoch)
	}
	if same != nil {
		return same
	}
	if r.batch != ident.NoBatch && visible > r.batch {
		return errcode.TableAhead.New(r.place(), "the table holds batch %s of query %s, this is batch %s", visible, r.id.app, r.batch)
	}
	if visible < r.last {
		return errcode.TableLog.New(r.place(), "the table went back: batch %s of query %s was visible, now it is %s", r.last, r.id.app, visible).
			Advise("The table was restored or its log was changed: see `microbatch checkpoint repair`.")
	}
	return nil
}

// same decides about a batch of our number that is visible.
func (r rules) same(s *translog.State) error {
	stored, ok := s.Txn(r.id.digest)
	if !ok || !ident.StoredDigest(stored).OfBatch(r.batch) {
		if r.undated == r.batch {
			return errAlready
		}
		return errcode.TableForeignBatch.New(r.place(), "batch %s of query %s was committed by a writer without digests, such as Spark, while this driver ran", r.batch, r.id.app)
	}
	if ident.StoredDigest(stored) != r.digest.Stored(r.batch) && !bugs.Is(bugs.AnyDigest) {
		return errcode.TableForeignBatch.New(r.place(), "batch %s of query %s is visible with another digest: it covers other offsets than this one", r.batch, r.id.app)
	}
	return errAlready
}

func (r rules) place() string { return "table " + r.url }
