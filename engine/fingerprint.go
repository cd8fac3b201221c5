package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"microbatch/checkpointlog"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/transforms"
)

// pipelineFacts is what a query is, as plain data: from the configuration alone, without limits, trigger and secrets.
type pipelineFacts struct {
	Identity    map[string]any
	Evolution   map[string]any
	Learned     map[string]string
	Fingerprint string
}

// describe collects the facts of the query's components. Flat keys ("source.0.topics") make differences readable.
func describe(q *Query) (pipelineFacts, error) {
	f := pipelineFacts{Identity: map[string]any{}, Evolution: map[string]any{}, Learned: map[string]string{}}
	for n, s := range q.Sources {
		f.add(fmt.Sprintf("source.%d", n), s.Describe(), true)
	}
	for n, t := range q.Transforms {
		// A transform is identity only where it keeps state, and then its description says so itself; its kind may come and go.
		f.add(fmt.Sprintf("transform.%d", n), t.Describe(), false)
	}
	f.add("sink", q.Sink.Describe(), true)
	f.Evolution["on_error"] = int(q.OnError)
	if q.Delivery == AtMostOnce { // the other way is the older: it is not named in checkpoints
		f.Evolution["delivery"] = q.Delivery.String()
	}
	text, err := json.Marshal([]any{f.Identity, f.Evolution}) // maps are marshalled in the order of their keys
	if err != nil {
		return f, fmt.Errorf("fingerprint: %w", err)
	}
	sum := sha256.Sum256(text)
	f.Fingerprint = hex.EncodeToString(sum[:16])
	return f, nil
}

func (f *pipelineFacts) add(at string, d ident.Description, kindIsIdentity bool) {
	if kindIsIdentity {
		f.Identity[at] = d.Kind
	} else {
		f.Evolution[at] = d.Kind
	}
	for k, v := range d.Identity {
		f.Identity[at+"."+k] = v
	}
	for k, v := range d.Evolution {
		f.Evolution[at+"."+k] = v
	}
	for k, v := range d.Learned {
		f.Learned[at+"."+k] = v
	}
}

// compareWith holds the facts against those of the newest epoch. It returns what has evolved, in words.
func (f *pipelineFacts) compareWith(e checkpointlog.Epoch) (evolved []string, err error) {
	if diff := differences(e.Identity, f.Identity); len(diff) > 0 {
		return nil, errcode.PipelineChanged.New("_engine/epoch/"+e.Epoch.String(), "this checkpoint belongs to another pipeline: %s", strings.Join(diff, "; "))
	}
	for _, k := range slices.Sorted(maps.Keys(f.Learned)) {
		if was, ok := e.Learned[k]; ok && was != f.Learned[k] {
			return nil, errcode.LearnedChanged.New("_engine/epoch/"+e.Epoch.String(), "%s was %s and is now %s", k, was, f.Learned[k])
		}
	}
	return differences(e.Evolution, f.Evolution), nil
}

// inherit keeps what earlier epochs have learned and this one has not met again.
func (f *pipelineFacts) inherit(e checkpointlog.Epoch) {
	for k, v := range e.Learned {
		if _, ok := f.Learned[k]; !ok {
			f.Learned[k] = v
		}
	}
}

// differences lists the keys whose values differ, in words. Values are compared as JSON, since one side was read from it.
func differences(was, is map[string]any) []string {
	keys := map[string]bool{}
	for _, m := range []map[string]any{was, is} {
		for k := range m {
			keys[k] = true
		}
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if a, b := asJSON(was, k), asJSON(is, k); a != b {
			out = append(out, fmt.Sprintf("%s was %s and is now %s", k, a, b))
		}
	}
	return out
}

func asJSON(m map[string]any, key string) string {
	v, ok := m[key]
	if !ok {
		return "absent"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%v", v)
	}
	return string(text)
}

// stateless reports whether a batch that is visible may be recorded without running it again: no operator keeps anything between batches.
func stateless(ops []transforms.Operator) bool {
	for _, op := range ops {
		if s, ok := op.(transforms.Stateful); ok && s.Stateful() {
			return false
		}
	}
	return true
}
