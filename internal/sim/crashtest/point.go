package crashtest

import (
	"strings"

	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/world"
)

// point is a place in the life of a batch where a process can die: an operation as the matrix names it, or a fault point.
type point struct {
	phase string // a phase of package engine, "start" before the first one, "shutdown" after the end of the query's context
	name  string
}

// sweeps: what attempts of the dead have left is deleted here.
func (p point) sweeps() bool {
	return strings.HasSuffix(p.name, "delete data file (sweep)") || p.name == "delete what older epochs have staged"
}

// besideWork: it is a look that runs beside the work. What is found after a death there depends on how far the work is, which is the scheduler's choice.
func (p point) besideWork() bool {
	return p.phase == "prepare" && strings.HasPrefix(strings.TrimPrefix(p.name, "rejected: "), "read the ")
}

// faultPoint is the place of operations that are fault points.
const faultPoint = "point"

// pointOf names an operation that is done in a phase. Numbers are left out, so that all batches meet at one point.
func pointOf(phase string, op gate.Op) point {
	if phase == "repair" {
		name := strings.TrimSuffix(pointOf("start", op).name, " (purge)")
		return point{phase, strings.Replace(name, "0 (the table)", "(the epoch alone)", 1)}
	}
	switch op.Place {
	case faultPoint:
		return point{phaseOfFault(op.Key, phase), "at " + op.Key}
	case "topic":
		return point{map[string]string{"plan": "plan", "read": "read"}[op.Kind], map[string]string{"plan": "ask the source for the end", "read": "read a partition"}[op.Kind]}
	case "transform":
		return point{"transform", "transform a chunk"}
	case world.Output:
		return pointOfTarget(phase, op)
	case world.Checkpoint:
		return pointOfCheckpoint(phase, op)
	}
	p := pointOfTable(phase, op)
	if op.Place == world.Rejected {
		p.name = "rejected: " + p.name
	}
	return p
}

// phaseOfFault: a fault point's name begins with its phase, or it is part of whatever passes it.
func phaseOfFault(name, phase string) string {
	first, _, _ := strings.Cut(name, ".")
	for _, p := range phases {
		if p == first {
			return p
		}
	}
	return phase
}

// phases in the order of a batch.
var phases = [...]string{"start", "plan", "intend", "read", "transform", "prepare", "commit", "record", "release", "shutdown", "repair"}

func pointOfCheckpoint(phase string, op gate.Op) point {
	if !op.Writes() {
		if phase == "plan" || phase == "intend" || phase == "read" || phase == "transform" || phase == "commit" || phase == "record" {
			phase = "prepare" // the look for a newer epoch, which runs beside the work
		}
		return point{phase, "read the checkpoint"}
	}
	dir, _, _ := strings.Cut(op.Key, "/")
	if dir == "_engine" {
		dir = op.Key[:strings.LastIndexByte(op.Key, '/')]
	}
	key := map[string]string{
		"metadata": "metadata", "offsets": "offsets/<id>", "commits": "commits/<id>", "sources": "sources/0/0", "_engine/epoch": "_engine/epoch/<e>",
		"_engine/low-watermark": "_engine/low-watermark/<id>",
	}[dir]
	switch op.Kind {
	case "putifabsent":
		return point{map[string]string{"offsets": "intend", "commits": "record", "_engine/low-watermark": "release"}[dir], "put " + key}.or("start")
	case "delete":
		if dir == "_engine/epoch" {
			break // of the claim
		}
		return point{"release", "delete " + key + " (purge)"}
	}
	return point{"start", op.Kind + " " + key}
}

func (p point) or(phase string) point {
	if p.phase == "" {
		p.phase = phase
	}
	return p
}

func pointOfTable(phase string, op gate.Op) point {
	name := op.Key[strings.LastIndexByte(op.Key, '/')+1:]
	inLog := strings.HasPrefix(op.Key, "_metadata/") || strings.HasPrefix(op.Key, "_delta_log/")
	switch {
	case !op.Writes() && op.Kind != "create":
		return point{beside(phase), "read the table"} // the look whether the table still stands runs beside the work
	case !inLog:
		return pointOfDataFile(phase, op.Kind, name)
	case name == "_last_checkpoint" || name == "_maintained" || name == "_clock":
		return point{"release", "put " + name}
	case strings.Contains(name, ".checkpoint."):
		return point{"release", map[string]string{"putifabsent": "put log checkpoint", "delete": "delete log checkpoint (cleanup)"}[op.Kind]}
	case op.Kind == "delete":
		return point{"release", "delete log entry (cleanup)"}
	case op.Kind == "sync":
		return point{phase, "sync log entry"}
	case phase == "release":
		return point{phase, "put log entry (optimize)"}
	case phase == "start":
		return point{phase, "put log entry 0 (the table)"}
	}
	return point{"commit", "put log entry"}
}

func pointOfDataFile(phase, kind, name string) point {
	switch {
	case kind == "sync" && phase == "record":
		return point{phase, "make the removal durable (sweep)"}
	case kind == "sync":
		return point{"shutdown", "make the removal durable (abandoned)"}
	case kind == "delete" && phase == "record":
		return point{phase, "delete data file (sweep)"}
	case kind == "delete" && phase == "release":
		return point{phase, "delete data file (vacuum)"}
	case kind == "delete" && phase == "commit":
		return point{phase, "delete data file (not needed)"}
	case kind == "delete":
		return point{"shutdown", "delete data file (abandoned)"}
	case kind == "abort":
		return point{"shutdown", "abort data file"}
	}
	verb := map[string]string{"create": "create and write data file", "commit": "end data file"}[kind]
	if strings.HasPrefix(name, "opt-") {
		return point{"release", verb + " (optimize)"}
	}
	return point{"prepare", verb}
}
