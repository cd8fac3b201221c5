package config

import (
	"fmt"
	"slices"
	"strings"

	"microbatch/internal/errcode"
)

// Faults are all the faults of a pipeline file, in order of their places.
type Faults struct {
	list   []*errcode.Error
	places []place
}

func (f *Faults) add(code errcode.Code, at place, format string, args ...any) *errcode.Error {
	e := code.New(at.String(), format, args...)
	f.list = append(f.list, e)
	f.places = append(f.places, at)
	return e
}

// err is f as an error, or nil if there are no faults. The order is that of the file; the command line comes last.
func (f *Faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	order := make([]int, len(f.list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return comparePlaces(f.places[a], f.places[b]) })
	sorted := &Faults{}
	for _, i := range order {
		sorted.list = append(sorted.list, f.list[i])
		sorted.places = append(sorted.places, f.places[i])
	}
	if len(order) > 1 { // the advice of the first would be taken for that of all
		first := *sorted.list[0]
		sorted.list[0] = first.Advise("Correct each of them; `microbatch validate` says what is left.")
	}
	return sorted
}

func comparePlaces(a, b place) int {
	if (a.line == 0) != (b.line == 0) {
		return b.line - a.line // one of them is 0: the command line comes last
	}
	if a.line != b.line {
		return a.line - b.line
	}
	return a.column - b.column
}

// Error lists the faults, one a line.
func (f *Faults) Error() string {
	if len(f.list) == 1 {
		return f.list[0].Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d faults in the pipeline file", len(f.list))
	for _, e := range f.list {
		b.WriteString("\n  " + e.Error())
	}
	return b.String()
}

// Unwrap gives the faults as errors with codes.
func (f *Faults) Unwrap() []error {
	out := make([]error, len(f.list))
	for i, e := range f.list {
		out[i] = e
	}
	return out
}
