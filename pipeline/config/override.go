package config

import (
	"strconv"
	"strings"

	"microbatch/internal/errcode"
)

// override applies one "path=value" of the command line: the value is YAML. Its place is "--set path", without the value, which may be a secret.
func override(root *node, assignment string, faults *Faults) {
	path, value, ok := strings.Cut(assignment, "=")
	path = strings.TrimSpace(path)
	at := place{file: "--set " + path}
	if !ok || path == "" {
		faults.add(errcode.PipelineOverride, place{file: "--set"}, "want path=value, such as trigger.max_rows=1000")
		return
	}
	steps, ok := splitPath(path)
	if !ok {
		faults.add(errcode.PipelineOverride, at, "%q is not a path; want keys joined by dots, and [n] for the n-th entry of a list, from 0", path)
		return
	}
	leaf, ok := parseValue(at, value, faults)
	if !ok {
		return
	}
	target := root
	for i, s := range steps {
		slot := s.slot(target, at, i+1 < len(steps) && steps[i+1].index >= 0)
		if slot == nil {
			faults.add(errcode.PipelineOverride, at, "there is no %s to set", spell(steps[:i+1]))
			return
		}
		if i+1 == len(steps) {
			*slot = leaf
			return
		}
		target = *slot
	}
}

// step is a key, or the index of a list's entry.
type step struct {
	key   string
	index int // -1 for a key
}

// splitPath reads a.b[0].c.
func splitPath(path string) ([]step, bool) {
	var steps []step
	for part := range strings.SplitSeq(path, ".") {
		name, rest, indexed := strings.Cut(part, "[")
		if name == "" {
			return nil, false
		}
		steps = append(steps, step{name, -1})
		for indexed {
			var digits string
			digits, rest, _ = strings.Cut(rest, "]")
			n, err := strconv.Atoi(digits)
			if err != nil || n < 0 {
				return nil, false
			}
			steps = append(steps, step{index: n})
			if rest == "" {
				break
			}
			if rest, indexed = strings.CutPrefix(rest, "["); !indexed {
				return nil, false
			}
		}
	}
	return steps, true
}

func spell(steps []step) string {
	var b strings.Builder
	for i, s := range steps {
		switch {
		case s.index >= 0:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case i > 0:
			b.WriteString("." + s.key)
		default:
			b.WriteString(s.key)
		}
	}
	return b.String()
}

// slot is where in n the step leads: an existing value, or for a mapping a new one. nil if it cannot lead anywhere.
func (s step) slot(n *node, at place, listNext bool) **node {
	if n.kind == null && s.index < 0 {
		n.kind = mapping
	}
	fresh := &node{place: at}
	if listNext {
		fresh.kind = list
	}
	switch {
	case s.index < 0 && n.kind == mapping:
		for i := range n.fields {
			if n.fields[i].key == s.key {
				return &n.fields[i].value
			}
		}
		n.fields = append(n.fields, field{s.key, at, fresh})
		return &n.fields[len(n.fields)-1].value
	case s.index >= 0 && n.kind == list && s.index < len(n.items):
		return &n.items[s.index]
	case s.index >= 0 && n.kind == list && s.index == len(n.items): // one past the end appends
		n.items = append(n.items, fresh)
		return &n.items[s.index]
	}
	return nil
}

func parseValue(at place, value string, faults *Faults) (*node, bool) {
	if value == "" {
		return &node{kind: text, place: at}, true
	}
	inner := &Faults{}
	// As the value of a key on a line of its own; a bare word stays a word, [a, b] becomes a list.
	root := parse(at.file, []byte("v: "+value), inner)
	leaf := root.get("v")
	if len(inner.list) > 0 || leaf == nil || len(root.fields) != 1 {
		faults.add(errcode.PipelineOverride, at, "the value is not YAML; put texts with special characters in quotes")
		return nil, false
	}
	leaf.relocate(at)
	return leaf, true
}

// relocate gives a value and all within one place.
func (n *node) relocate(at place) {
	n.place = at
	for _, item := range n.items {
		item.relocate(at)
	}
	for i := range n.fields {
		n.fields[i].place = at
		n.fields[i].value.relocate(at)
	}
}
