package storetest

import (
	"math"
	"testing"

	"github.com/anishathalye/porcupine"
)

// The checker itself: what it must refuse, and what it must accept though an answer is missing.
func TestTheCheckerTellsRightFromWrong(t *testing.T) {
	put := func(value string, call, end int64, out answer) porcupine.Operation {
		return porcupine.Operation{Input: callOf("put", value), Call: call, Return: end, Output: out}
	}
	get := func(value string, call, end int64) porcupine.Operation {
		return porcupine.Operation{Input: callOf("get", ""), Call: call, Return: end, Output: answer{value: value, found: value != ""}}
	}
	list := func(found bool, call, end int64) porcupine.Operation {
		return porcupine.Operation{Input: callOf("list", ""), Call: call, Return: end, Output: answer{found: found}}
	}
	remove := func(call, end int64) porcupine.Operation {
		return porcupine.Operation{Input: callOf("delete", ""), Call: call, Return: end, Output: answer{}}
	}
	lost := answer{unknown: true}
	for name, c := range map[string]struct {
		ops  []porcupine.Operation
		want bool
	}{
		"one winner":                       {[]porcupine.Operation{put("a", 0, 5, answer{}), put("b", 1, 6, answer{taken: true}), get("a", 7, 8)}, true},
		"two winners":                      {[]porcupine.Operation{put("a", 0, 5, answer{}), put("b", 1, 6, answer{})}, false},
		"no winner":                        {[]porcupine.Operation{put("a", 0, 5, answer{taken: true}), put("b", 1, 6, answer{taken: true})}, false},
		"two winners around a delete":      {[]porcupine.Operation{put("a", 0, 5, answer{}), remove(1, 9), put("b", 6, 10, answer{})}, true},
		"a stale read":                     {[]porcupine.Operation{put("a", 0, 5, answer{}), get("", 6, 7)}, false},
		"a read that goes back":            {[]porcupine.Operation{put("a", 0, 9, answer{}), get("a", 1, 2), get("", 3, 4)}, false},
		"a listing without the newest key": {[]porcupine.Operation{put("a", 0, 5, answer{}), list(false, 6, 7)}, false},
		"a listing during the put":         {[]porcupine.Operation{put("a", 0, 5, answer{}), list(false, 1, 2), list(true, 3, 4)}, true},
		"lost and done":                    {[]porcupine.Operation{put("a", 0, math.MaxInt64, lost), put("b", 1, 2, answer{taken: true}), get("a", 3, 4)}, true},
		"lost and not done":                {[]porcupine.Operation{put("a", 0, math.MaxInt64, lost), put("b", 1, 2, answer{}), get("b", 3, 4)}, true},
		"lost, and done late":              {[]porcupine.Operation{put("a", 0, math.MaxInt64, lost), get("", 5, 6), get("a", 7, 8)}, true},
		"lost, but gone with the power":    {[]porcupine.Operation{put("a", 0, 4, lost), get("", 5, 6), get("a", 7, 8)}, false},
		"lost, and a foreign value":        {[]porcupine.Operation{put("a", 0, math.MaxInt64, lost), get("b", 5, 6)}, false},
	} {
		for i := range c.ops {
			c.ops[i].ClientId = i
		}
		if got := porcupine.CheckOperations(model.ToModel(), c.ops); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func callOf(op, value string) call { return call{op: op, key: "k/0", value: value} }
