package proxy

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Kind is what is done to a connection.
type Kind int

// The kinds. After counts the bytes that pass before.
const (
	Pass       Kind = iota // nothing
	Slow                   // each piece of an answer waits for Delay
	CutAnswer              // the connection is reset in the middle of an answer
	CutRequest             // the connection is reset in the middle of a request: the server has half of it
	HalfClose              // the client sees the end of the answers, while its requests still go through
	EatAnswer              // requests go through, their answers are lost, and after Delay the connection is reset: the server has done what was asked
)

var kinds = [...]string{"passed", "slowed", "cut in an answer", "cut in a request", "half-closed", "answer eaten"}

// String names the kind in the past tense.
func (k Kind) String() string { return kinds[k] }

// Fault is what is done to one connection.
type Fault struct {
	Kind  Kind
	After int64         // bytes of requests (CutRequest) or of answers that pass first
	Delay time.Duration // for Slow and EatAnswer
}

// String says what happens when.
func (f Fault) String() string { return fmt.Sprintf("%s after %d bytes, %s", f.Kind, f.After, f.Delay) }

// requestBytes is within which a request is cut by Seeded: most are small, and would end before.
const requestBytes = 2000

// Seeded is a schedule that breaks so many of 100 connections, each after at most so many bytes.
func Seeded(seed uint64, percent int, within int64) func(n int) Fault {
	return func(n int) Fault {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		if rng.IntN(100) >= percent {
			return Fault{}
		}
		f := Fault{Kind: Kind(1 + rng.IntN(len(kinds)-1)), After: rng.Int64N(within), Delay: time.Duration(rng.IntN(30)) * time.Millisecond}
		if f.Kind == CutRequest {
			f.After %= requestBytes
		}
		return f
	}
}
