package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"microbatch/internal/figures"
	"microbatch/objstore"
)

// call is what a client asks of one key.
type call struct {
	op    string // put, get, stat, delete, replace, list
	key   string
	value string
}

// answer is what it was told.
type answer struct {
	value   string // of get
	found   bool   // of get, stat and list
	taken   bool   // of put
	unknown bool   // the store could not settle it: it has happened, or not
}

// model is one key: its value, or "" for none. Values are never empty.
var model = porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, o := range history {
			byKey[o.Input.(call).key] = append(byKey[o.Input.(call).key], o)
		}
		var parts [][]porcupine.Operation
		for _, part := range byKey {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() []any { return []any{""} },
	Step: func(state, input, output any) []any {
		value, in, out := state.(string), input.(call), output.(answer)
		next, ok := step(value, in, out)
		switch {
		case out.unknown:
			return []any{value, next}
		case ok:
			return []any{next}
		}
		return nil
	},
	Equal: func(a, b any) bool { return a == b },
	DescribeOperation: func(input, output any) string {
		return fmt.Sprintf("%+v -> %+v", input, output)
	},
}

// step is the state after a call and whether the answer is right for it.
func step(value string, in call, out answer) (next string, ok bool) {
	switch in.op {
	case "put":
		if value != "" {
			return value, out.taken
		}
		return in.value, !out.taken
	case "replace":
		return in.value, true
	case "delete":
		return "", true
	case "stat", "list":
		return value, out.found == (value != "")
	}
	return value, out.found == (value != "") && out.value == value
}

func linearizable(t *testing.T, s objstore.Store) {
	for n := range 2 {
		Linearizable(t, []objstore.Store{objstore.Prefix(s, fmt.Sprint("history", n))}, Mixed()...)
	}
}

// Mixed are operations for Linearizable of a store that answers every call: those that are named more often are called more often.
func Mixed() []string {
	return []string{"put", "put", "put", "get", "get", "stat", "delete", "delete", "replace", "list"}
}

// Linearizable is (S1) and (S3): six clients, each with one of the stores, race on three keys with the given operations (put, get, stat, delete, replace, list),
// and some order of their calls must explain all answers. list reads all keys at once and counts as a look at each of them. It is for stores that lose
// answers, too: an ErrUncertain may take effect at any later time, or never. Leave out delete and replace where the store repeats calls by itself: a repeated
// one can undo what came in between, which no store without conditional deletes can help. MICROBATCH_SEED repeats a run's choices, though not the timing.
func Linearizable(t testing.TB, stores []objstore.Store, ops ...string) {
	t.Helper()
	h := NewHistory(t)
	h.Race(stores, 40, ops...)
	h.Check()
}

// A History is what clients have asked of stores over the same objects and what they were told.
type History struct {
	t      testing.TB
	seed   uint64
	start  time.Time
	rounds uint64

	// Broken says that calls may fail in any way, as they do on a store that loses power: what has failed may have happened or not. And that nothing
	// counts as seen before it was synced: what was read or met without that may be gone after the power failure.
	Broken bool

	// Failing says that calls may fail. A write that fails, and not as uncertain, must not have happened: nobody may ever see it.
	Failing bool

	mu  sync.Mutex
	all []porcupine.Operation
}

// NewHistory begins a history.
func NewHistory(t testing.TB) *History {
	seed := uint64(time.Now().UnixNano())
	if given, err := strconv.ParseUint(os.Getenv("MICROBATCH_SEED"), 10, 64); err == nil {
		seed = given
	}
	return &History{t: t, seed: seed, start: time.Now()}
}

const clients, keys = 6, 3

// Race lets six clients make calls at once.
func (h *History) Race(stores []objstore.Store, calls int, ops ...string) {
	h.t.Helper()
	h.rounds++
	var group sync.WaitGroup
	for client := range clients {
		random := rand.New(rand.NewPCG(h.seed, h.rounds<<8|uint64(client)))
		store := stores[client%len(stores)]
		group.Go(func() {
			for n := range calls {
				in := call{op: ops[random.IntN(len(ops))], key: fmt.Sprintf("k/%d", random.IntN(keys)), value: fmt.Sprintf("round %d client %d call %d", h.rounds, client, n)}
				switch err := h.call(client, store, in); {
				case err != nil && h.Broken:
					return // this client is gone
				case err != nil && h.Failing:
				case err != nil:
					h.t.Errorf("seed %d: %+v: %v", h.seed, in, err)
					return
				}
			}
		})
	}
	group.Wait()
}

// call makes one call and notes it: a list as a look at each key.
func (h *History) call(client int, s objstore.Store, in call) error {
	began := h.now()
	out, err := do(h.t, s, in)
	if err == nil && h.Broken && !h.durable(s, out) {
		return nil
	}
	ended := h.now()
	var unknown bool
	for _, o := range out {
		unknown = unknown || o.unknown
	}
	if err != nil && (!h.Broken || !in.writes()) { // it says nothing
		return err
	}
	if err != nil {
		out, unknown = map[string]answer{in.key: {unknown: true}}, true
	}
	if unknown {
		ended = math.MaxInt64 // it may still happen
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, o := range out {
		one := in
		one.key = key
		h.all = append(h.all, porcupine.Operation{ClientId: client, Input: one, Call: began, Output: o, Return: ended})
	}
	return err
}

func (c call) writes() bool { return c.op != "get" && c.op != "stat" && c.op != "list" }

// durable syncs what a call has met, so that it may count, and reports whether it does.
func (h *History) durable(s objstore.Store, out map[string]answer) bool {
	for key, o := range out {
		if (o.taken || o.found) && s.Sync(h.t.Context(), key) != nil {
			return false
		}
	}
	return true
}

func (h *History) now() int64 { return time.Since(h.start).Nanoseconds() }

// PowerFailed says that all clients are gone: what is unknown has happened by now, or never will.
func (h *History) PowerFailed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.all {
		h.all[i].Return = min(h.all[i].Return, h.now())
	}
}

// Check looks for an order of all calls that explains all answers, and counts the history for the figures.
func (h *History) Check() {
	h.t.Helper()
	m := model.ToModel()
	slices.SortFunc(h.all, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	result, info := porcupine.CheckOperationsVerbose(m, h.all, 20*time.Second)
	ambiguous := 0
	for _, o := range h.all {
		if o.Output.(answer).unknown {
			ambiguous++
		}
	}
	figures.Add(h.t, "store histories checked", 1)
	figures.Add(h.t, "store operations checked", len(h.all))
	figures.Add(h.t, "store operations of unknown outcome", ambiguous)
	if result == porcupine.Ok {
		return
	}
	path := h.t.ArtifactDir() + "/history.html"
	if err := porcupine.VisualizePath(m, info, path); err != nil {
		h.t.Error(err)
	}
	h.t.Errorf("seed %d: a history of %d calls is %s, see %s", h.seed, len(h.all), result, path)
}

// do makes a call and returns what it says of each key.
func do(t testing.TB, s objstore.Store, in call) (map[string]answer, error) {
	ctx := t.Context()
	var out answer
	var err error
	switch in.op {
	case "put":
		err = s.PutIfAbsent(ctx, in.key, []byte(in.value))
		if errors.Is(err, fs.ErrExist) {
			out, err = answer{taken: true}, nil
		}
	case "replace":
		err = s.Put(ctx, in.key, []byte(in.value))
	case "delete":
		err = s.Delete(ctx, in.key)
	case "list":
		return listKeys(t, s)
	case "stat":
		_, err = s.Stat(ctx, in.key)
		out.found = err == nil
	default:
		var data []byte
		data, err = s.Get(ctx, in.key)
		out = answer{value: string(data), found: err == nil}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && !in.writes():
		out, err = answer{}, nil
	case errors.Is(err, objstore.ErrUncertain):
		out, err = answer{unknown: true}, nil
	}
	return map[string]answer{in.key: out}, err
}

// listKeys looks at all keys by one listing.
func listKeys(t testing.TB, s objstore.Store) (map[string]answer, error) {
	out := map[string]answer{}
	for k := range keys {
		out[fmt.Sprintf("k/%d", k)] = answer{}
	}
	for info, err := range s.List(t.Context(), "k/", "") {
		if err != nil {
			return nil, err
		}
		if _, ours := out[info.Key]; !ours || out[info.Key].found {
			return nil, fmt.Errorf("the listing has %q, or has it twice", strings.Clone(info.Key))
		}
		out[info.Key] = answer{found: true}
	}
	return out, nil
}
