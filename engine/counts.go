package engine

import (
	"fmt"
	"strings"

	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/sinks"
	"microbatch/sources"
)

// counts adds up what the parts have counted.
func (x *execution) counts(staged sinks.Staged) Counts {
	c := Counts{Decoded: x.decoded.Load(), Rejected: x.rejects.count(), Out: staged.Rows, Dropped: staged.Dropped, Changes: staged.Changes}
	for _, splits := range x.splits {
		var rows int64
		for _, s := range splits {
			rows += s.Reached().Rows
		}
		c.Sources = append(c.Sources, rows)
		c.Read += rows
	}
	for _, op := range x.ops {
		n := op.Counts()
		if n.Filtered < 0 || c.Filtered < 0 {
			c.Filtered = -1
		} else {
			c.Filtered += n.Filtered
		}
	}
	return c
}

// check holds the counts against each other and against the plan (P6), and the rejected rows against the ceiling.
func (x *execution) check(c Counts) error {
	if err := x.checkPositions(); err != nil {
		return err
	}
	if bugs.Is(bugs.CountsUnchecked) {
		return nil
	}
	undecoded := x.undecode.Load()
	if c.Read != c.Decoded+undecoded {
		return errcode.CountMismatch.New(x.at(), "the sources count %d rows, but %d were decoded and %d rejected", c.Read, c.Decoded, undecoded)
	}
	if late := c.Rejected - undecoded; c.Filtered >= 0 && c.Decoded != c.Out+c.Dropped+c.Filtered+late {
		return errcode.CountMismatch.New(x.at(), "%d rows were decoded, but %d are staged, %d dropped, %d filtered and %d rejected later", c.Decoded, c.Out, c.Dropped, c.Filtered, late)
	}
	if c.Changes != nil && c.Changes.Sum() != c.Out {
		return errcode.CountMismatch.New(x.at(), "%d rows are staged, but %d insert, %d update, %d delete and %d change nothing", c.Out, c.Changes.Inserted, c.Changes.Updated, c.Changes.Deleted, c.Changes.Unchanged)
	}
	return x.rejects.checkCeiling(c.Read)
}

// checkPositions adds up what the splits of each source have covered and compares it with what was planned.
func (x *execution) checkPositions() error {
	for n, splits := range x.splits {
		units := map[string]sources.Unit{}
		for _, s := range splits {
			for _, u := range s.Reached().Units {
				sum := units[u.Name]
				units[u.Name] = sources.Unit{Name: u.Name, Want: u.Want, Covered: sum.Covered + u.Covered}
			}
		}
		var off []string
		for _, u := range units {
			if u.Covered != u.Want {
				off = append(off, fmt.Sprintf("%s: %d of %d", u.Name, u.Covered, u.Want))
			}
		}
		if len(off) > 0 && !bugs.Is(bugs.IgnoreShortRead) {
			return errcode.ShortRead.New(x.at(), "source %d did not cover its range: %s", n, strings.Join(off, ", "))
		}
		if r := x.work.Ranges[n]; len(units) == 0 && r.From != r.To && len(splits) > 0 {
			return errcode.ShortRead.New(x.at(), "source %d does not say what it has covered of %s to %s", n, r.From, r.To)
		}
	}
	return nil
}

// at names the batch in errors.
func (x *execution) at() string { return "batch " + x.work.ID.String() }
