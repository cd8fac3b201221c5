package explore

import (
	"context"
	"errors"
	"hash/maphash"
	"io/fs"
	"strconv"
	"strings"

	"microbatch/ident"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/world"
)

// seed is one for all runs of a process, so that their hashes can be compared.
var seed = maphash.MakeSeed()

// journal sums up a run as a state: what the stores hold, and what each driver has been answered. A driver is a program that depends on nothing else, so two runs
// with equal sums go on alike.
type journal struct {
	w     *world.World
	names *names
	// held is the sum of the objects: independent of the order in which they came.
	held    uint64
	objects map[string]uint64 // by place and key
	heard   map[string]uint64 // by driver
	scratch []byte
}

func newJournal(w *world.World) *journal {
	return &journal{w: w, names: newNames(), objects: map[string]uint64{}, heard: map[string]uint64{}}
}

// open begins with what the stores hold.
func (j *journal) open() error {
	ctx := context.Background()
	for _, place := range []string{world.Checkpoint, world.Table} { // in the table's place the log is listed before the files
		for info, err := range j.w.Store(place).List(ctx, "", "") {
			if err != nil {
				return err
			}
			data, err := j.w.Store(place).Get(ctx, info.Key)
			if err != nil {
				return err
			}
			j.put(place, info.Key, data, "0")
		}
	}
	return nil
}

// put notes that an object has come.
func (j *journal) put(place, key string, data []byte, by string) {
	if id, ok := strings.CutPrefix(key, "offsets/"); ok && place == world.Checkpoint {
		if n, err := strconv.ParseInt(id, 10, 64); err == nil {
			j.names.entry(ident.BatchID(n), data, by)
		}
	}
	var h maphash.Hash
	h.SetSeed(seed)
	h.Write(j.canonical([]byte(place+" "+key), by))
	if strings.HasSuffix(key, ".parquet") { // no ids in there
		h.Write(data)
	} else {
		h.Write(j.canonical(data, by))
	}
	j.forget(place, key)
	j.objects[place+" "+key] = h.Sum64()
	j.held += h.Sum64()
}

func (j *journal) canonical(text []byte, by string) []byte {
	j.scratch = j.names.canonical(j.scratch[:0], text, by)
	return j.scratch
}

// forget notes that an object has gone.
func (j *journal) forget(place, key string) {
	j.held -= j.objects[place+" "+key]
	delete(j.objects, place+" "+key)
}

// request identifies an operation, and names the ids that it brings.
func (j *journal) request(w *gate.Waiting) uint64 {
	j.canonical(w.Data, w.Process)
	return maphash.Bytes(seed, j.canonical([]byte(w.Op.String()), w.Process))
}

// hear adds to what a driver was answered.
func (j *journal) hear(driver string, what string, answer uint64) {
	j.heard[driver] = maphash.Comparable(seed, [3]uint64{j.heard[driver], maphash.String(seed, what), answer})
}

// answer is what an operation would be answered now.
func (j *journal) answer(op gate.Op) uint64 {
	switch op.Kind {
	case "list":
		var sum uint64
		for object, h := range j.objects {
			if strings.HasPrefix(object, op.Place+" "+op.Key) {
				sum += h
			}
		}
		return sum
	case "get", "open", "stat":
		return j.objects[op.Place+" "+op.Key]
	}
	if j.has(op) {
		return 1
	}
	return 0
}

func (j *journal) has(op gate.Op) bool { return j.objects[op.Place+" "+op.Key] != 0 }

// done notes what an operation has done to the store.
func (j *journal) done(op gate.Op) error {
	if !op.Writes() || op.Kind == "sync" || op.Kind == "abort" || op.Place == "topic" {
		return nil
	}
	data, err := j.w.Store(op.Place).Get(context.Background(), op.Key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		j.forget(op.Place, op.Key)
	case err != nil:
		return err
	default:
		if op.Kind != "putifabsent" || !j.has(op) {
			j.put(op.Place, op.Key, data, op.Process)
		}
	}
	return nil
}
