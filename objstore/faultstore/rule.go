package faultstore

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"microbatch/objstore"
)

// ErrInjected is the error of a rule that names no other.
var ErrInjected = errors.New("injected fault")

// Kind says what becomes of the call.
type Kind string

// The kinds.
const (
	Fail Kind = "fail" // not done, and fails
	Lose Kind = "lose" // done, and fails
	Slow Kind = "slow" // waits for Rule.Release or the end of the context; then, if Rule.Err is nil, it is done as usual
)

// Rule is one fault.
type Rule struct {
	Op      string // "*" or "" for all
	Prefix  string
	Nth     int // the n-th matching call, from 1; 0 is every one
	Kind    Kind
	Err     error           // nil is ErrInjected, for Slow none
	Release <-chan struct{} // ends the waiting of Slow
	Hook    func(Call)      // called at the fault, before anything is done; may be nil
}

// Ops are the operations that a rule can name.
var ops = []string{"*", "put", "putifabsent", "create", "write", "commit", "abort", "get", "open", "read", "stat", "list", "delete", "sync", "lock"}

var errorNames = map[string]error{
	"exist": fs.ErrExist, "missing": fs.ErrNotExist, "uncertain": objstore.ErrUncertain, "fsync": objstore.ErrFsync, "locked": objstore.ErrLocked,
}

// Parse reads a rule from its text.
func Parse(text string) (Rule, error) {
	fields := strings.Fields(text)
	if len(fields) < 2 || len(fields) > 3 {
		return Rule{}, fmt.Errorf("faultstore: %q: want <op>[:<prefix>][#<n>] fail|lose|slow [<error>]", text)
	}
	var r Rule
	where, nth, counted := strings.Cut(fields[0], "#")
	r.Op, r.Prefix, _ = strings.Cut(where, ":")
	if !slices.Contains(ops, r.Op) {
		return Rule{}, fmt.Errorf("faultstore: %q: no operation %q", text, r.Op)
	}
	if counted {
		n, err := strconv.Atoi(nth)
		if err != nil || n < 1 {
			return Rule{}, fmt.Errorf("faultstore: %q: want a count from 1 after #", text)
		}
		r.Nth = n
	}
	r.Kind = Kind(fields[1])
	if r.Kind != Fail && r.Kind != Lose && r.Kind != Slow {
		return Rule{}, fmt.Errorf("faultstore: %q: want fail, lose or slow", text)
	}
	if len(fields) == 3 {
		r.Err = errorNames[fields[2]]
		if r.Err == nil {
			return Rule{}, fmt.Errorf("faultstore: %q: no error %q", text, fields[2])
		}
	}
	return r, nil
}

// MustParse is Parse for a rule in a test's source.
func MustParse(text string) Rule {
	r, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return r
}

func (r Rule) matches(op, key string) bool {
	return (r.Op == op || r.Op == "*" || r.Op == "") && strings.HasPrefix(key, r.Prefix)
}

func (r Rule) error(op, key string) error {
	err := r.Err
	if err == nil && r.Kind == Slow {
		return nil
	}
	if err == nil {
		err = ErrInjected
	}
	return fmt.Errorf("faultstore: %s %s: %w", op, key, err)
}
