package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/world"
)

// phase is where in its work a process meets a fault.
type phase int

// The phases: those of a batch, and what stands around them.
const (
	inStart phase = iota // up to the first plan
	inPlan
	inIntend
	inRead
	inPrepare
	inCommit
	inRecord
	inRelease
	inUpkeep // of the maintenance process
	phases
)

var phaseNames = [phases]string{"start", "plan", "intend", "read", "prepare", "commit", "record", "release", "upkeep"}

func (p phase) String() string { return phaseNames[p] }

// MarshalText and UnmarshalText are for regressions.
func (p phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is the reverse of MarshalText.
func (p *phase) UnmarshalText(text []byte) error { return find(phaseNames[:], string(text), p) }

func find[T ~int](names []string, name string, to *T) error {
	i := slices.Index(names, name)
	if i < 0 {
		return fmt.Errorf("%q is none of %q", name, names)
	}
	*to = T(i)
	return nil
}

// phaseOf sorts an operation.
func phaseOf(a *actor, op gate.Op) phase {
	switch {
	case a.role != driving:
		return inUpkeep
	case !a.begun.Load():
		return inStart
	case op.Place == "topic" && op.Kind == "plan":
		return inPlan
	case op.Place == "kafka" && op.Kind == "offsetcommit":
		return inRelease
	case op.Place == "kafka" && op.Kind != "fetch":
		return inPlan
	case op.Place == "topic", op.Place == "kafka":
		return inRead
	case op.Place == "user":
		return inCommit
	case op.Place == world.Output:
		return phaseOfTarget(op)
	case op.Place == world.Checkpoint:
		return phaseOfCheckpoint(op)
	}
	return phaseOfTable(op)
}

func phaseOfCheckpoint(op gate.Op) phase {
	switch {
	case op.Kind == "delete", strings.HasPrefix(op.Key, "_engine/low-watermark/"):
		return inRelease
	case strings.HasPrefix(op.Key, "commits/"):
		return inRecord
	}
	return inIntend
}

func phaseOfTable(op gate.Op) phase {
	log := strings.HasPrefix(op.Key, "_metadata/") || strings.HasPrefix(op.Key, "_delta_log/")
	switch {
	case log && (op.Kind == "list" || op.Kind == "delete" || op.Kind == "put" || op.Kind == "commit" || op.Kind == "create" || strings.Contains(op.Key, "checkpoint") || strings.HasSuffix(op.Key, "_maintained")):
		return inRelease
	case log:
		return inCommit
	case op.Kind == "list", op.Kind == "delete":
		return inRecord
	}
	return inPrepare
}

// phaseOfTarget sorts what is asked of a target. What a recovery asks it is of the start.
func phaseOfTarget(op gate.Op) phase {
	switch op.Kind {
	case "stage", "copy", "settle", "clear": // of a database
		return inPrepare
	case "begin", "lock", "apply", "write", "commit", "abort", "put":
		return inCommit
	case "addpartitionstotxn", "produce": // of a topic
		return inPrepare
	case "addoffsetstotxn", "txnoffsetcommit", "endtxn":
		return inCommit
	case "create", "mkdir", "append", "sync", "syncdir", "stat": // of a folder
		return inPrepare
	case "rename", "link":
		return inCommit
	case "readdir", "remove", "open":
		return inRecord
	}
	return inStart
}

// kind is what happens.
type kind int

// The faults.
const (
	die       kind = iota // the process is killed before the operation
	dieDone               // and after it
	fail                  // the operation is not done, and says so; so are arg-1 more
	lose                  // it is done, and its answer is lost
	late                  // its answer is lost, and it is done arg operations later
	power                 // the machine loses its power; arg percent of what was not synced survives
	inside                // all processes of the machine are killed in the middle of the operation, at its arg-th step
	torn                  // the machine loses its power there
	fsync                 // the next sync fails
	full                  // the disk is full for arg steps
	twin                  // a second driver is started
	pause                 // the process stands still until arg more batches are done, by others
	slow                  // the operation takes arg seconds
	asleep                // everything stands still for arg hours
	clock                 // the clock of the process's machine jumps by arg minutes
	stop                  // the process is asked to end
	upkeep                // another process does maintenance; arg says what
	foreign               // a foreign writer commits to the table; arg says what
	change                // the pipeline is changed: it makes a column more; the process is asked to end
	damage                // all processes are killed and the checkpoint is harmed, then repaired; arg says how
	leader                // a partition of Kafka gets another leader
	hide                  // a partition is missing in arg+1 answers
	lie                   // its end is said to be lower in arg+1 answers
	retention             // its log begins later, up to the end of what is recorded
	compact               // it loses the markers of transactions
	kinds
)

var kindNames = [kinds]string{
	"die", "die done", "fail", "lose", "late", "power", "inside", "torn", "fsync", "full", "twin", "pause", "slow", "asleep", "clock", "stop", "upkeep",
	"foreign", "change", "damage", "leader", "hide", "lie", "retention", "compact",
}

func (k kind) String() string { return kindNames[k] }

// MarshalText and UnmarshalText are for regressions.
func (k kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText is the reverse of MarshalText.
func (k *kind) UnmarshalText(text []byte) error { return find(kindNames[:], string(text), k) }

// fault is one, and when: at the operation of a phase that is the skip-th after so many batches.
type fault struct {
	After int
	Phase phase
	Skip  int
	Kind  kind
	Arg   int
}

func (f fault) String() string {
	return fmt.Sprintf("%s (%d) in %s, operation %d, after batch %d", f.Kind, f.Arg, f.Phase, f.Skip, f.After)
}

// possible reports whether a kind can occur in a phase of a run.
func possible(k kind, p phase, o options) bool {
	writes := p != inPlan && p != inRead && !(p == inCommit && o.Sink == "foreachbatch") && !(p == inPrepare && !o.stages())
	at := o.Medium // of what a phase writes to
	if p == inPrepare || p == inCommit {
		at = o.outputMedium()
	}
	if !o.tables() && (k == upkeep || k == foreign || k == change || k == damage || p == inUpkeep) {
		return false
	}
	switch k {
	case damage: // a torn entry does not say that its batch was to be recorded first, and repair then refuses a sink that lacks it
		return !o.AtMostOnce
	case power:
		return o.Medium == world.Disk
	case inside, torn, fsync, full:
		return at == world.Disk && o.Medium == world.Disk && writes
	case late:
		return at == world.Objects && writes
	case leader, hide, lie, retention, compact:
		return o.Kafka
	case lose:
		return o.Kafka && (p == inPlan || p == inRead) || writes
	case pause:
		return o.Medium == world.Objects
	}
	return true
}

// stages: what a batch makes is put somewhere that others can reach before it is committed.
func (o options) stages() bool { return o.Sink != "foreachbatch" && o.Sink != "http" }

// outputMedium is what the output is made of.
func (o options) outputMedium() world.Medium {
	switch o.Sink {
	case "kafka", "postgres", "http":
		return world.Objects
	case "files":
		return world.Disk
	}
	return o.Medium
}

// deriveFaults draws the faults of a run.
func deriveFaults(r *rand.Rand, o options) []fault {
	n := 2 + r.IntN(7)
	if o.Batches > 100 {
		n += 6
	}
	var out []fault
	for len(out) < n {
		f := fault{After: r.IntN(o.Batches), Phase: phase(r.IntN(int(phases))), Kind: kind(r.IntN(int(kinds))), Skip: r.IntN(4)}
		if f.Phase == inStart {
			f.Skip = r.IntN(24)
		}
		if !possible(f.Kind, f.Phase, o) {
			continue
		}
		f.Arg = argOf(r, f.Kind, o)
		switch f.Phase { // what the phase needs to come at all
		case inStart:
			out = append(out, fault{After: f.After, Phase: pick(r, inPlan, inRead, inCommit), Kind: pick(r, die, stop, twin)})
		case inUpkeep:
			f.Skip = r.IntN(12)
			if slices.Contains([]kind{lose, late, inside, torn, fsync, full}, f.Kind) { // of operations that change something there are few
				f.Skip = r.IntN(3)
			}
			if r.IntN(3) == 0 {
				out = append(out, fault{After: f.After, Phase: inPlan, Kind: foreign, Arg: r.IntN(writings)})
			} else {
				out = append(out, fault{After: f.After, Phase: inPlan, Kind: upkeep, Arg: r.IntN(upkeeps)})
			}
		}
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b fault) int { return a.After - b.After })
	return out
}

func argOf(r *rand.Rand, k kind, o options) int {
	switch k {
	case fail:
		return pick(r, 1, 1, 1, 2, 4, 8)
	case late:
		return pick(r, 0, 3, 10, 50, 400)
	case power, torn:
		return pick(r, 0, 10, 50, 100)
	case inside:
		return 1 + r.IntN(6)
	case full:
		return 1 + r.IntN(30)
	case pause:
		if o.Batches > 200 && r.IntN(2) == 0 {
			return 200 + r.IntN(10)
		}
		return pick(r, 0, 1, 1, 2, 5, 20)
	case slow:
		return pick(r, 1, 5, 31, 700, 3600, 25*3600)
	case asleep:
		return pick(r, 1, 25, 49, 24*31)
	case clock:
		return pick(r, -1, 1) * pick(r, 60, 60, 24*60, 3653*24*60)
	case upkeep:
		return r.IntN(upkeeps)
	case foreign:
		return r.IntN(writings)
	case damage:
		return r.IntN(damages)
	case hide, lie:
		return r.IntN(4)
	}
	return 0
}
