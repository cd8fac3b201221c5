package translog

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/internal/failpoint"
	"microbatch/objstore"
	"microbatch/table/action"
)

// Change is what one commit does.
type Change struct {
	Info    action.CommitInfo // Timestamp, ReadVersion and TxnID are filled in
	Actions []action.Action   // without commitInfo
	// Reads are files whose rows the change builds on: it conflicts with who removes one. Files that it removes itself are read.
	Reads map[action.FileKey]bool
	// Sees says of a file that another writer adds in between, with rows that are new to the table, whether the change would have had to see it: then it conflicts.
	// Nil: it reads no rows. Files that only hold other files' rows are never asked about.
	Sees func(*action.Add) bool
	// Admit looks at the state that the change would follow, first at the one it was made for and then after each version that another writer put
	// before it. An error ends the commit, and nothing of it is visible. Nil admits all.
	Admit func(*State) error
	// Budget is how long to look for a free version; 0 is a minute.
	Budget time.Duration
}

// Commit puts a change behind a state, or behind what came after it if that does not disturb the change (Delta protocol; Spark's ConflictChecker).
// It returns the newest state seen, also with an error. Errors by code: TableConflict, TableReplaced, TableBusy, TableFeature: nothing is visible;
// TableHole: nothing is visible, and this process is out of date; TableUncertain: it may be visible, now or later; and those of Admit.
// Any other error leaves open what is visible.
func (l *Log) Commit(ctx context.Context, s *State, c Change) (*State, error) {
	if c.Admit == nil {
		c.Admit = func(*State) error { return nil }
	}
	if err := l.Durable(ctx, s); err != nil {
		return s, err
	}
	if err := c.Admit(s); err != nil {
		return s, err
	}
	entry, err := l.encode(s, c)
	if err != nil {
		return s, err
	}
	p := &put{log: l, change: c.readsItsRemoves(), entry: entry, end: time.Now().Add(orMinute(c.Budget))}
	for try := 1; ; try++ {
		next, done, err := p.try(ctx, s)
		if next != nil {
			s = next
		}
		if done || err != nil {
			return s, err
		}
		if err := p.pause(ctx, try); err != nil {
			return s, err
		}
	}
}

// readsItsRemoves is the change with the files that it removes among those it reads.
func (c Change) readsItsRemoves() Change {
	reads := maps.Clone(c.Reads)
	for i := range c.Actions {
		if r := c.Actions[i].Remove; r != nil {
			if reads == nil {
				reads = map[action.FileKey]bool{}
			}
			reads[r.Key()] = true
		}
	}
	c.Reads = reads
	return c
}

// entry is a change in the form in which it is put. The bytes are the same at every version, so that a put that was lost on the way stays the same put.
type entry struct {
	txnID   string // "" if another program has put it without
	actions []action.Action
	data    []byte
}

// tip is by what an entry is known again: its txnId, or the digest of its bytes if it has none.
func (e entry) tip() string {
	if e.txnID != "" {
		return e.txnID
	}
	sum := sha256.Sum256(e.data)
	return hex.EncodeToString(sum[:])
}

func (l *Log) encode(s *State, c Change) (entry, error) {
	e := entry{txnID: uuid.NewString()}
	info := c.Info
	info.Timestamp, info.TxnID = l.now().UnixMilli(), e.txnID
	if s.Version >= 0 {
		info.ReadVersion = &s.Version
	}
	if info.OperationParameters == nil {
		info.OperationParameters = map[string]any{}
	}
	e.actions = append([]action.Action{{CommitInfo: &info}}, c.Actions...)
	data, err := action.Encode(e.actions)
	e.data = data
	return e, err
}

// put is a change on its way to a free version.
type put struct {
	log    *Log
	change Change
	entry  entry
	end    time.Time
}

// try puts the entry at the version after s. If the slot is taken it returns the newest state that the change can follow.
func (p *put) try(ctx context.Context, s *State) (next *State, done bool, err error) {
	v := s.Version + 1
	key := p.log.format.CommitKey(v)
	failpoint.Hit("commit.put.before")
	before := p.log.moment()
	err = p.log.store.PutIfAbsent(ctx, key, p.entry.data)
	failpoint.Hit("commit.put.after")
	switch {
	case err == nil:
		return p.landed(ctx, s, before)
	case errors.Is(err, fs.ErrExist):
		return p.rebase(ctx, s)
	case errors.Is(err, objstore.ErrUncertain):
		// Whoever stands at the slot has it for ever: ours is in, or it can never come in there. An empty slot proves nothing: our put may still land.
		if _, _, readErr := p.log.Read(ctx, v); readErr != nil {
			return nil, false, errcode.TableUncertain.Wrap(err, p.log.store.URL()+"/"+key, "the put was not answered")
		}
		return p.rebase(ctx, s)
	}
	return nil, false, fmt.Errorf("put %s: %w", key, err)
}

// landed is the state after our entry, if the entry is part of the log (T4): if the state that it was put behind is fresh, or still stands. before is the time before
// the put; zero if its answer was lost.
func (p *put) landed(ctx context.Context, s *State, before moment) (*State, bool, error) {
	v := s.Version + 1
	fresh := !before.isZero() && p.log.fresh(s)
	if v > 0 && !fresh && !bugs.Is(bugs.NoLookBack) {
		key := p.log.store.URL() + "/" + p.log.format.CommitKey(v)
		err := p.log.follows(ctx, s, key)
		if _, coded := errors.AsType[*errcode.Error](err); err != nil && !coded {
			return nil, false, errcode.TableUncertain.Wrap(err, key, "the entry is in place, but version %d could not be looked at", v-1)
		}
		if err != nil {
			return nil, false, err
		}
	}
	next := s.apply(v, p.entry)
	next.durable, next.ended = true, before
	if fresh {
		next.before = &State{Version: s.Version, tip: s.tip, Metadata: s.Metadata}
	}
	return next, true, nil
}

// rebase reads the versions after s that others have put, until the newest. done: one of them is ours.
func (p *put) rebase(ctx context.Context, s *State) (*State, bool, error) {
	now, err := p.log.stands(ctx, s)
	if err != nil {
		return s, false, err
	}
	if now != nil && now.checkpoint > s.Version && !bugs.Is(bugs.BuildOnStray) { // who stands there came after the clean-up, as we did
		return s, false, errcode.TableHole.New(p.log.store.URL()+"/"+p.log.format.CommitKey(s.Version+1), "version %d is gone, the log begins at %d", s.Version, now.checkpoint)
	}
	for {
		v := s.Version + 1
		e, err := p.log.entry(ctx, v)
		if errors.Is(err, fs.ErrNotExist) {
			return s, false, nil
		}
		if err != nil {
			return s, false, err
		}
		next := s.apply(v, e)
		if err := p.log.Durable(ctx, next); err != nil { // ours, too: the answer to its put was lost, so it may be there and not durable
			return s, false, err
		}
		if e.txnID == p.entry.txnID && !bugs.Is(bugs.OwnIsForeign) {
			next, _, err := p.landed(ctx, s, moment{})
			return next, true, err
		}
		if err := p.change.Admit(next); err != nil && !bugs.Is(bugs.TxnCheckedOnce) {
			return next, false, err
		}
		if err := p.disturbed(s, next, e.actions); err != nil {
			return next, false, err
		}
		s = next
	}
}

// disturbed says why the change cannot follow a version that turned state s into next, nil if it can.
func (p *put) disturbed(s, next *State, actions []action.Action) error {
	if next.Metadata.ID != s.Metadata.ID {
		return errcode.TableReplaced.New(p.log.store.URL(), "metaData.id was %s and is %s since version %d", s.Metadata.ID, next.Metadata.ID, next.Version)
	}
	conflict := func(format string, args ...any) error {
		return errcode.TableConflict.New(p.log.store.URL()+"/"+p.log.format.CommitKey(next.Version), format, args...)
	}
	for i := range actions {
		switch a := &actions[i]; {
		case a.Protocol != nil:
			if err := p.log.CheckWrite(next); err != nil {
				return err
			}
			return conflict("it changed the table's protocol")
		case a.Metadata != nil:
			return conflict("it changed the table's schema or properties")
		case a.Add != nil && a.Add.DataChange && p.change.Sees != nil && p.change.Sees(a.Add) && !bugs.Is(bugs.BlindToAdds):
			return conflict("it added %s, which may hold rows that this commit would have to see", a.Add.Path)
		case a.Remove != nil && p.change.Reads[a.Remove.Key()] && !bugs.Is(bugs.BlindToRemoves):
			return conflict("it removed %s, which this commit builds on", a.Remove.Path)
		}
	}
	return nil
}

// pause waits a little before the next try, longer after each, so that competing writers do not move in step.
func (p *put) pause(ctx context.Context, try int) error {
	if time.Now().After(p.end) {
		return errcode.TableBusy.New(p.log.store.URL(), "%d versions were taken by others first", try)
	}
	if try == 1 {
		return nil
	}
	t := time.NewTimer(time.Duration(p.chance(try) * float64(min(10*time.Millisecond<<min(try, 10), time.Second))))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// chance is a number from 0 to 1, another one for each put and try. It comes from the entry's own random id, so that a simulation can repeat it.
func (p *put) chance(try int) float64 {
	id := uuid.MustParse(p.entry.txnID)
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(id[:8]), uint64(try))).Float64()
}

func orMinute(d time.Duration) time.Duration {
	if d == 0 {
		return time.Minute
	}
	return d
}

// Begin puts version 0. fs.ErrExist: somebody else's table is there already.
func (l *Log) Begin(ctx context.Context, c Change) error {
	e, err := l.encode(emptyState(), c)
	if err != nil {
		return err
	}
	key := l.format.CommitKey(0)
	failpoint.Hit("create.put.before")
	err = l.store.PutIfAbsent(ctx, key, e.data)
	failpoint.Hit("create.put.after")
	if errors.Is(err, objstore.ErrUncertain) {
		return errcode.TableUncertain.Wrap(err, l.store.URL()+"/"+key, "the put was not answered")
	}
	if err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	return nil
}
