package filestage

import (
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"microbatch/ident"
	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/internal/failpoint"
	"microbatch/sinks"
)

// claim makes the ground of the query's epoch and removes that of older ones: from then on nothing that they staged, or will stage, can become visible.
func (s *Sink) claim(q sinks.QueryInfo) error {
	d, l := s.disk, layoutOf(q.ID, q.Shard)
	for _, dir := range []string{l.ledger(), l.staging()} {
		if err := d.makeDir(dir); err != nil {
			return err
		}
	}
	if err := d.fencedBy(l, q.Epoch); err != nil {
		return err
	}
	if err := d.makeDir(l.ground(q.Epoch)); err != nil {
		return err
	}
	failpoint.Hit("filestage.claimed")
	if err := d.fencedBy(l, q.Epoch); err != nil { // it looked between our look and our folder, and may not have seen it
		return errors.Join(err, d.removeAll(l.ground(q.Epoch)))
	}
	if err := d.replace(l.owner(), l.ground(q.Epoch), owner{Pipeline: q.Name, Query: q.ID, Shard: q.Shard.String()}); err != nil {
		return err
	}
	if err := d.tidy(l); err != nil {
		return err
	}
	epochs, err := d.epochs(l)
	if err != nil {
		return err
	}
	for _, e := range epochs {
		if e < q.Epoch && !bugs.Is(bugs.GroundStays) {
			if err := d.Rename(l.ground(e), l.gone(e)); err != nil && !errors.Is(err, fs.ErrNotExist) { // in one step: an attempt that is deleted file by file could still be renamed; who else starts may take it first
				return d.failed("rename", l.ground(e), err)
			}
		}
	}
	failpoint.Hit("filestage.ground-taken")
	if err := d.sync(l.staging()); err != nil {
		return err
	}
	return d.tidy(l)
}

// tidy deletes the grounds that were taken from older epochs.
func (d disk) tidy(l layout) error {
	dirs, err := d.names(l.staging())
	if err != nil {
		return err
	}
	for _, name := range dirs {
		if strings.HasPrefix(name, gone) {
			if err := d.removeAll(path.Join(l.staging(), name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// owner says whose home it is.
type owner struct {
	Pipeline string        `json:"pipeline"`
	Query    ident.QueryID `json:"query"`
	Shard    string        `json:"shard"`
}

// fencedBy is an error if a newer epoch has its ground.
func (d disk) fencedBy(l layout, epoch ident.Epoch) error {
	epochs, err := d.epochs(l)
	if err != nil {
		return err
	}
	for _, e := range epochs {
		if e > epoch {
			return errcode.DriverFenced.New(d.place(l.ground(e)), "epoch %s has claimed the folder, this driver has %s", e, epoch)
		}
	}
	return nil
}

// epochs are those that have their ground.
func (d disk) epochs(l layout) ([]ident.Epoch, error) {
	dirs, err := d.names(l.staging())
	if err != nil {
		return nil, err
	}
	var out []ident.Epoch
	for _, name := range dirs {
		if n, err := strconv.ParseInt(name, 10, 64); err == nil {
			out = append(out, ident.Epoch(n))
		}
	}
	return out, nil
}
