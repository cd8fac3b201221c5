package filestage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/failpoint"
	"microbatch/sinks"
)

// Commit renames the attempt's folder to the batch's.
func (s *Sink) Commit(_ context.Context, staged sinks.Pending) (sinks.Result, error) {
	p, err := ours(staged)
	if err != nil {
		return sinks.Result{Version: -1}, err
	}
	r := p.record
	if r.Batch < s.last {
		return sinks.Result{Version: -1}, errcode.ForeignDigest.New(s.disk.URL(), "it holds batch %s of query %s, this is batch %s", s.last, r.Query, r.Batch)
	}
	if r.Batch == s.last { // readers may have deleted its folder: a rename would make it again
		return s.refused(p, fs.ErrExist)
	}
	failpoint.Hit("filestage.before-rename")
	switch err := s.disk.Rename(p.dir, s.at.batch(r.Batch)); {
	case err == nil:
		failpoint.Hit("filestage.renamed")
		return s.settled(r, sinks.Committed)
	case errors.Is(err, fs.ErrExist), errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, fs.ErrNotExist):
		return s.refused(p, err)
	default:
		return sinks.Result{Version: -1}, s.disk.failed("rename", s.at.batch(r.Batch), err)
	}
}

// settled makes a batch that is visible durable, and enters it into the ledger.
func (s *Sink) settled(r *record, outcome sinks.Outcome) (sinks.Result, error) {
	if err := s.disk.sync("."); err != nil {
		return sinks.Result{Version: -1}, err
	}
	if err := s.disk.enter(s.at, s.at.ground(s.query.Epoch), r); err != nil {
		if fenced := s.disk.fencedBy(s.at, s.query.Epoch); errcode.Has(fenced, errcode.DriverFenced) { // it took the ground after our rename, and enters the batch itself
			return sinks.Result{Outcome: sinks.Fenced, Version: -1, Why: fenced}, nil
		}
		return sinks.Result{Version: -1}, err
	}
	s.last = r.Batch
	return sinks.Result{Outcome: outcome, Version: -1}, nil
}

// refused looks why a rename was not made: the batch is there already, or the ground of our epoch is gone.
func (s *Sink) refused(p *pending, why error) (sinks.Result, error) {
	none := sinks.Result{Version: -1}
	there, err := s.visible(p.record.Batch)
	if err != nil {
		return none, err
	}
	if there != nil && there.Digest == p.record.Digest {
		if err := s.disk.removeAll(p.dir); err != nil {
			return none, err
		}
		return s.settled(there, sinks.AlreadyCommitted)
	}
	if err := s.disk.fencedBy(s.at, s.query.Epoch); err != nil {
		if errcode.Has(err, errcode.DriverFenced) {
			return sinks.Result{Outcome: sinks.Fenced, Version: -1, Why: err}, nil
		}
		return none, err
	}
	if there != nil {
		return none, errcode.ForeignDigest.New(s.disk.place(s.at.batch(there.Batch)), "batch %s of query %s is visible with another digest: it covers other offsets than this one", there.Batch, there.Query)
	}
	return none, s.disk.failed("rename", p.dir, fmt.Errorf("the staged files are gone: %w", why))
}

// visible is the record of a batch that has its folder, or had one; nil if it has not.
func (s *Sink) visible(id ident.BatchID) (*record, error) {
	for _, name := range []string{s.at.record(id), s.at.entry(id)} {
		if _, err := s.disk.Stat(name); err == nil {
			return s.disk.record(id, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, s.disk.failed("look at", name, err)
		}
	}
	return nil, nil
}

// Abort removes the attempt's folder.
func (s *Sink) Abort(_ context.Context, staged sinks.Pending) error {
	p, err := ours(staged)
	if err != nil {
		return err
	}
	return s.disk.removeAll(p.dir)
}

func ours(p sinks.Pending) (*pending, error) {
	q, ok := p.(*pending)
	if !ok {
		return nil, fmt.Errorf("files sink: a pending batch of another sink: %T", p)
	}
	return q, nil
}
