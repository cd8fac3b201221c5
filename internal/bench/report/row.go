package report

import (
	"fmt"
	"slices"
)

// A Section is a workload: what was run, and the rows that came of it.
type Section struct {
	Name  string
	Group string // the heading; sections of one group stand behind each other and share a table
	About string // one or two sentences: what runs, and against what; the first of a group speaks for all
	Rows  []Row
}

// A Row is one figure of a workload.
type Row struct {
	Name     string // unique
	Unit     string // of both sides
	Ratio    Ratio
	Required *Bound // of the ratio, or of ours if there is no peer; nil: nothing is
	Aim      *Bound
	Chart    string // the chart that shows it; "" for none
	Label    string // in the chart; Name if empty
}

// Ratio says how two sides make one number.
type Ratio int

const (
	Alone         Ratio = iota // there is no peer
	PeerByOurs                 // how many times faster we are, of times
	OursByPeer                 // of rates: how many times faster we are; of bytes and memory: our share
	OursMinusPeer              // what we add to something that cannot be avoided
)

func (r Ratio) of(ours, peer float64) float64 {
	switch r {
	case PeerByOurs:
		return peer / ours
	case OursByPeer:
		return ours / peer
	case OursMinusPeer:
		return ours - peer
	}
	return ours
}

// A Bound is what a figure has to keep.
type Bound struct {
	Limit float64
	Most  bool
}

// AtLeast is a lower bound.
func AtLeast(v float64) *Bound { return &Bound{Limit: v} }

// AtMost is an upper bound.
func AtMost(v float64) *Bound { return &Bound{Limit: v, Most: true} }

// String is the bound in words, "" if there is none.
func (b *Bound) String() string {
	switch {
	case b == nil:
		return ""
	case b.Most:
		return "at most " + digits(b.Limit)
	}
	return "at least " + digits(b.Limit)
}

func (b *Bound) met(v float64) *bool {
	if b == nil {
		return nil
	}
	ok := v >= b.Limit
	if b.Most {
		ok = v <= b.Limit
	}
	return &ok
}

// Samples are the figures of a row, one for each round; Peer is empty without a peer. Both sides of a round ran one after the other.
type Samples struct {
	Ours, Peer []float64
	Note       string // what a reader should know of this measurement
}

// Add appends a round.
func (s *Samples) Add(ours, peer float64) {
	s.Ours, s.Peer = append(s.Ours, ours), append(s.Peer, peer)
}

// Median is the middle of some figures.
func Median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

func spread(v []float64) string {
	return digits(slices.Min(v)) + " to " + digits(slices.Max(v))
}

// digits is a number as short as it is useful.
func digits(v float64) string {
	switch {
	case v >= 1000 || v <= -1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 10 || v <= -10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
