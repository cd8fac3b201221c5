package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"microbatch/checker"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/world"
	"microbatch/sinks"
)

// targetOutput is a target that is no table.
type targetOutput struct {
	s      *simulation
	target world.Target
	keeps  bool            // batches
	query  string          // "" until the checkpoint has it
	batch  int64           // the newest that it holds, or that is recorded if it keeps none
	epoch  int64           // the highest that was seen
	held   map[int64]state // what it holds after each batch
	moved  bool            // something may have happened to it
}

func newTargetOutput(s *simulation, target world.Target) *targetOutput {
	at, err := target.Position(context.Background(), "")
	if err != nil {
		panic(fmt.Sprintf("sim: %v", err))
	}
	t := &targetOutput{s: s, target: target, keeps: at.Keeps, batch: -1, held: map[int64]state{-1: {}}}
	s.referee = newReferee(s, func() int64 { return t.batch + 1 })
	return t
}

func (t *targetOutput) sink(a *actor) sinks.Sink { return t.target.Sink(a.Process) }
func (t *targetOutput) newest() int64            { return t.batch }

// touched is told of an operation at the target that was done, or may be.
func (t *targetOutput) touched(op gate.Op) {
	switch op.Kind {
	case "commit", "put", "endtxn", "initproducerid":
		t.moved = true
	case "rename", "remove": // of a folder; others of its files no reader sees
		t.moved = t.moved || strings.HasPrefix(op.Key, "batch-")
	}
}

func (t *targetOutput) look() error {
	err := t.learnQuery()
	switch {
	case err != nil:
	case !t.keeps:
		err = t.bound()
	case t.moved:
		err = t.follow()
	}
	t.moved = false
	if err != nil {
		return err
	}
	return t.s.referee.look(false)
}

// learnQuery reads the query's id.
func (t *targetOutput) learnQuery() error {
	if t.query != "" {
		return nil
	}
	data, err := t.s.world.Store(world.Checkpoint).Get(context.Background(), "metadata")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var m struct{ ID string }
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	t.query = m.ID
	return err
}

// follow verifies the batch that has come, if one has, and the rows.
func (t *targetOutput) follow() error {
	at, err := t.target.Position(context.Background(), t.query)
	if err != nil {
		return err
	}
	if at.Epoch < t.epoch {
		return fmt.Errorf("the target's epoch goes back from %d to %d", t.epoch, at.Epoch)
	}
	t.epoch = at.Epoch
	if at.Batch != t.batch {
		if err := t.s.follows(at.Batch, t.batch); err != nil {
			return err
		}
		for id := t.batch + 1; id < at.Batch; id++ {
			t.held[id] = t.held[t.batch] // they are lost
		}
		if err := t.arrived(at); err != nil {
			return err
		}
	}
	return t.hasRows(fmt.Sprintf("the target after batch %d", t.batch), t.held[t.batch], t.held[t.batch])
}

// arrived verifies a batch that the target holds now.
func (t *targetOutput) arrived(at checker.Position) error {
	e, text, err := t.made(at.Batch)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256([]byte(text)); at.Digest == "" || !strings.HasPrefix(hex.EncodeToString(sum[:]), at.Digest) {
		return fmt.Errorf("batch %d: the target has digest %q, which is not that of offsets/%d", at.Batch, at.Digest, at.Batch)
	}
	t.batch = at.Batch
	if p, ok := t.target.(interface{ Progress() []int64 }); ok && !slices.Equal(p.Progress(), t.s.ends[t.batch]) {
		return fmt.Errorf("batch %d ends at %v, and the positions that were committed with it are %v", t.batch, t.s.ends[t.batch], p.Progress())
	}
	return t.s.hasRejected(at.Batch, e)
}

// made is what the rows are after a batch, of which the one before is known.
func (t *targetOutput) made(id int64) (e expectation, text string, err error) {
	if text, err = t.s.entry(id); err == nil {
		e, err = t.s.expected(id, text)
	}
	if err == nil {
		t.held[id] = t.s.merge(t.held[id-1], byID(e.made))
	}
	return e, text, err
}

// bound verifies a target that keeps no batches: it holds the recorded ones at least, and what is fixed at most.
func (t *targetOutput) bound() error {
	for t.s.recorded(t.batch + 1) {
		t.batch++
		t.moved = true
		if t.held[t.batch] == nil {
			if _, _, err := t.made(t.batch); err != nil {
				return err
			}
		}
	}
	if !t.moved {
		return nil
	}
	most := t.batch
	if t.s.fixed(most + 1) {
		most++
		if _, _, err := t.made(most); err != nil {
			return err
		}
	}
	return t.hasRows(fmt.Sprintf("the target after batch %d", t.batch), t.held[t.batch], t.held[most])
}

// hasRows compares the target's rows with what has to be there at least, and at most.
func (t *targetOutput) hasRows(what string, least, most state) error {
	rows, err := t.target.Rows(context.Background())
	if err != nil {
		return err
	}
	slices.Sort(rows)
	if len(least) == len(most) {
		return sameRows(what, rows, least)
	}
	there := state{}
	for _, id := range rows {
		if _, ok := least[id]; ok {
			there[id] = ""
		}
	}
	if len(there) < len(least) {
		return fmt.Errorf("%s: %d rows instead of %d", what, len(there), len(least))
	}
	for _, id := range rows {
		if _, ok := most[id]; ok {
			there[id] = ""
		}
	}
	return sameRows(what, rows, there)
}

// powerLost: a folder may have lost the newest batch, unless it is recorded.
func (t *targetOutput) powerLost() error {
	t.s.referee.powerLost()
	at, err := t.target.Position(context.Background(), t.query)
	if err != nil || !at.Keeps || at.Batch >= t.batch {
		t.moved = true
		return err
	}
	for id := at.Batch + 1; id <= t.batch && !t.s.AtMostOnce; id++ {
		if t.s.recorded(id) {
			return fmt.Errorf("batch %d is recorded, and the target has lost it", id)
		}
	}
	t.batch, t.epoch = at.Batch, at.Epoch
	return t.hasRows(fmt.Sprintf("the target after batch %d", t.batch), t.held[t.batch], t.held[t.batch])
}

func (t *targetOutput) verdict() error {
	t.moved = true
	if err := t.look(); err != nil {
		return err
	}
	return t.s.referee.finish()
}
