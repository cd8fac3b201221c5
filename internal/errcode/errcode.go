package errcode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"microbatch/objstore"
)

// Class decides what the engine and the command line do with an error.
type Class int

// The classes.
const (
	// Stop: not to be repeated in place; the restart runs the same range.
	Stop Class = iota
	// Config: the pipeline file, the command line or the surroundings are wrong; nothing was written.
	Config
	// Retry: may go away by itself (network, throttling). Repeated with backoff, within limits.
	Retry
	// Conflict: somebody else changed what we built on. Prepared again.
	Conflict
	// Uncertain: a write may or may not have happened. Recovered by reading the truth; nothing is deleted.
	Uncertain
	// Fenced: a newer driver works, or the lock is held. This one ends.
	Fenced
	// Corrupt: what is stored contradicts itself. Refused until somebody looks.
	Corrupt
	// Data: rows or user code. The same range fails again until something is changed.
	Data
)

var classNames = [...]string{"stop", "config", "retry", "conflict", "uncertain", "fenced", "corrupt", "data"}

// String is the class in a word.
func (c Class) String() string { return classNames[c] }

// ExitCode is the process's exit status for an error of this class. 0 is success and 1 an error without a class.
func (c Class) ExitCode() int {
	return [...]int{1, 2, 6, 8, 7, 4, 3, 5}[c]
}

// Code is one kind of error.
type Code struct {
	ID    string // "MB1203"
	Title string // what happened, lower case: "the table's schema differs"
	Class Class
	Safe  string // what is safe now, a sentence
	Next  string // what to do next, a sentence
}

// Error is one error that has happened.
type Error struct {
	Code  Code
	Place string // file:line:column, topic-partition-offset, a key, a version; "" if the message says it
	Msg   string
	Next  string // overrides Code.Next when the remedy is known better
	Err   error  // the cause, may be nil
}

// New makes an error of this code at a place.
func (c Code) New(place, format string, args ...any) *Error {
	return &Error{Code: c, Place: place, Msg: fmt.Sprintf(format, args...)}
}

// Wrap makes an error of this code with a cause.
func (c Code) Wrap(err error, place, format string, args ...any) *Error {
	return &Error{Code: c, Place: place, Msg: fmt.Sprintf(format, args...), Err: err}
}

// Advise sets what to do next, when it is known better than the code's own words.
func (e *Error) Advise(format string, args ...any) *Error {
	e.Next = fmt.Sprintf(format, args...)
	return e
}

// Error is one line: "MB1203 place: message: cause".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Code.ID)
	b.WriteByte(' ')
	if e.Place != "" {
		b.WriteString(e.Place + ": ")
	}
	if e.Msg != "" {
		b.WriteString(e.Msg)
	} else {
		b.WriteString(e.Code.Title)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an error of the same code, so that errors.Is(err, errcode.X.New("", "")) works.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code.ID == e.Code.ID
}

// Has reports whether err is, or wraps, an error of the code.
func Has(err error, c Code) bool { return errors.Is(err, &Error{Code: c}) }

// ClassOf is the class of the outermost coded error in err's chain; store errors have classes of their own, and the rest is Stop.
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code.Class
	}
	switch {
	case errors.Is(err, objstore.ErrFsync):
		return Stop
	case errors.Is(err, objstore.ErrUncertain):
		return Uncertain
	case errors.Is(err, objstore.ErrLocked):
		return Fenced
	case errors.Is(err, context.DeadlineExceeded):
		return Retry
	case errors.Is(err, fs.ErrPermission):
		return Config
	}
	return Stop
}

// Detail renders an error for a person: the line, then what is safe and what to do next. No error is "".
func Detail(err error) string {
	if err == nil {
		return ""
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err.Error()
	}
	next := e.Next
	if next == "" {
		next = e.Code.Next
	}
	var b strings.Builder
	b.WriteString(err.Error())
	if e.Code.Safe != "" {
		b.WriteString("\n  safe: " + e.Code.Safe)
	}
	if next != "" {
		b.WriteString("\n  next: " + next)
	}
	return b.String()
}

// All is every code, in order of the ids.
func All() []Code {
	var all []Code
	for _, list := range [][]Code{configCodes, checkpointCodes, tableCodes, storeCodes, kafkaCodes, filesCodes, rowCodes, fileFormatCodes, avroCodes, transformCodes, sinkCodes, kafkaSinkCodes, postgresCodes, engineCodes} {
		all = append(all, list...)
	}
	return all
}
