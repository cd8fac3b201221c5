package sim

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
)

// shrink drops what a failing run does not need: faults one by one, then settings, then batches. It gives up after a minute.
func shrink(t *testing.T, o options) (options, outcome) {
	best, deadline := runOptions(t, o), time.Now().Add(time.Minute)
	try := func(smaller options) bool {
		if time.Now().After(deadline) {
			return false
		}
		out := runOptions(t, smaller)
		if out.violation == nil {
			return false
		}
		o, best = smaller, out
		return true
	}
	for i := len(o.Faults) - 1; i >= 0; i-- {
		smaller := o
		smaller.Faults = slices.Delete(slices.Clone(o.Faults), i, i+1)
		try(smaller)
	}
	for _, simpler := range []func(*options){
		func(o *options) { o.BadEvery = 0 },
		func(o *options) { o.AtMostOnce = false },
		func(o *options) { o.Filter, o.Select = 0, 0 },
		func(o *options) { o.Growing = false },
		func(o *options) { o.Partitions = 1 },
		func(o *options) { o.PartitionBy = "" },
		func(o *options) { o.Every, o.Timeout = 0, 0 },
		func(o *options) { o.Limit = 1 },
	} {
		smaller := o
		simpler(&smaller)
		try(smaller)
	}
	for o.Batches > 1 {
		smaller := o
		smaller.Batches /= 2
		if !try(smaller) {
			break
		}
	}
	return o, best
}

// asJSON is the form of regressions.
func (o options) asJSON() string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return string(text)
}
