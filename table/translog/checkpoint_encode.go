package translog

import (
	"context"
	"fmt"
	"hash/maphash"
	"io"

	"microbatch/internal/bugs"
	"microbatch/objstore"
	"microbatch/table/action"
)

// encoded is a checkpoint that is not stored yet.
type encoded struct {
	content       objstore.Content
	actions, adds int
	earlier       io.Closer // the checkpoint that parts of the content are of
}

func (c *encoded) close() { c.earlier.Close() }

// An encoder makes a checkpoint of actions, those that a writer needs first, and proofreads it.
type encoder interface {
	add(a *action.Action) error
	// pass takes what a sieve lets through of an earlier checkpoint, as it is where that is possible. ok false: nothing was taken, because the checkpoint is
	// none as this program writes them now. The object is read again when the new checkpoint is.
	pass(ctx context.Context, earlier objstore.Object, s *sieve) (ok bool, err error)
	// close is the whole checkpoint.
	close() (*encoded, error)
	release()
}

func (l *Log) newEncoder(s *State) (encoder, error) {
	if l.format == Delta {
		return newParquetEncoder()
	}
	return newJSONEncoder(s), nil
}

// A sieve says which actions on files of an earlier checkpoint are part of a later one.
type sieve struct {
	changed *changes
	cutoff  int64 // in Unix milliseconds: older removes are forgotten
}

// forgets reports whether a remove is too old to matter.
func (s *sieve) forgets(r *action.Remove) bool {
	return r.Deleted <= s.cutoff || bugs.Is(bugs.ForgetRemoves)
}

// keeps reports whether an action is on a file that has not changed since.
func (s *sieve) keeps(a *action.Action) bool {
	switch {
	case a.Add != nil:
		return !s.changed.file(a.Add.Key())
	case a.Remove != nil:
		return !s.changed.file(a.Remove.Key()) && !s.forgets(a.Remove)
	}
	return false
}

// A tally is of the actions that were encoded, and tells whether they are there when they are read back.
type tally struct {
	*fingerprint
	adds int
}

func newTally() tally { return tally{fingerprint: newFingerprint(maphash.MakeSeed())} }

func (t *tally) count(a *action.Action) {
	if a.Add != nil {
		t.adds++
	}
	t.fingerprint.add(a)
}

// proofread reads back what was encoded: once the entries before a checkpoint are cleaned up, it is all that is left of them.
func (t *tally) proofread(read func(see func(*action.Action) error) error) error {
	got := newFingerprint(t.hash.Seed())
	err := read(func(a *action.Action) error {
		got.add(a)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	if got.n != t.n || got.sum != t.sum {
		return fmt.Errorf("read back: %d actions of %d are there as they should be, or others", got.n, t.n)
	}
	return nil
}
