package storetest

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"microbatch/objstore"
)

// call is what a client asks of one key.
type call struct {
	op    string // put, get, delete, replace, list
	key   string
	value string
}

// answer is what it was told.
type answer struct {
	value   string // of get
	found   bool   // of get and list
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
	case "list":
		return value, out.found == (value != "")
	}
	return value, out.found == (value != "") && out.value == value
}

func linearizable(t *testing.T, s objstore.Store) {
	Linearizable(t, s, "put", "put", "put", "get", "get", "delete", "delete", "replace", "list")
}

// Linearizable is (S1) and (S3): clients race on a few keys with the given operations (put, get, delete, replace, list; more often those that are named more
// often), and some order of their calls must explain all answers. It is for stores that lose answers, too; leave out delete and replace there: a repeated
// one can undo what came in between, which no store without conditional deletes can help.
func Linearizable(t *testing.T, s objstore.Store, ops ...string) {
	t.Helper()
	const clients, calls, keys = 6, 40, 3
	seed := uint64(time.Now().UnixNano())
	start := time.Now()
	histories := make([][]porcupine.Operation, clients)
	var group sync.WaitGroup
	for client := range clients {
		random := rand.New(rand.NewPCG(seed, uint64(client)))
		group.Go(func() {
			for n := range calls {
				in := randomCall(random, ops, fmt.Sprintf("k/%d", random.IntN(keys)), fmt.Sprintf("client %d call %d", client, n))
				began := time.Since(start).Nanoseconds()
				out, err := do(t, s, in)
				if err != nil {
					t.Errorf("%+v: %v", in, err)
					return
				}
				ended := time.Since(start).Nanoseconds()
				if out.unknown {
					ended = time.Hour.Nanoseconds() // it may still happen
				}
				histories[client] = append(histories[client], porcupine.Operation{ClientId: client, Input: in, Call: began, Output: out, Return: ended})
			}
		})
	}
	group.Wait()
	var all []porcupine.Operation
	for _, h := range histories {
		all = append(all, h...)
	}
	m := model.ToModel()
	result, info := porcupine.CheckOperationsVerbose(m, all, 20*time.Second)
	if result == porcupine.Ok {
		return
	}
	path := t.ArtifactDir() + "/history.html"
	if err := porcupine.VisualizePath(m, info, path); err != nil {
		t.Error(err)
	}
	t.Errorf("seed %d: history is %s, see %s", seed, result, path)
}

func randomCall(random *rand.Rand, ops []string, key, value string) call {
	return call{op: ops[random.IntN(len(ops))], key: key, value: value}
}

func do(t *testing.T, s objstore.Store, in call) (out answer, err error) {
	ctx := t.Context()
	switch in.op {
	case "put":
		err = s.PutIfAbsent(ctx, in.key, []byte(in.value))
		if errors.Is(err, fs.ErrExist) {
			return answer{taken: true}, nil
		}
	case "replace":
		err = s.Put(ctx, in.key, []byte(in.value))
	case "delete":
		err = s.Delete(ctx, in.key)
	case "list":
		for info, e := range s.List(ctx, in.key, "") {
			err = e
			out.found = out.found || info.Key == in.key
		}
	default:
		var data []byte
		data, err = s.Get(ctx, in.key)
		if errors.Is(err, fs.ErrNotExist) {
			return answer{}, nil
		}
		out = answer{value: string(data), found: err == nil}
	}
	if errors.Is(err, objstore.ErrUncertain) {
		return answer{unknown: true}, nil
	}
	return out, err
}
