package checker

import (
	"fmt"
	"slices"
)

// Rule is the name of what is verified; the package's documentation numbers them.
type Rule string

// The rules.
const (
	Log       Rule = "log"
	Files     Rule = "files"
	Summary   Rule = "summary"
	Txn       Rule = "txn"
	Epoch     Rule = "epoch"
	Digest    Rule = "digest"
	IDs       Rule = "ids"
	Ranges    Rule = "ranges"
	Loss      Rule = "loss"
	Duplicate Rule = "duplicate"
	Phantom   Rule = "phantom"
	Rewrite   Rule = "rewrite"
	Count     Rule = "count"
	Rejected  Rule = "rejected"
	Orphan    Rule = "orphan"
)

// Rules are all rules, in the order of their numbers.
func Rules() []Rule {
	return []Rule{Log, Files, Summary, Txn, Epoch, Digest, IDs, Ranges, Loss, Duplicate, Phantom, Rewrite, Count, Rejected, Orphan}
}

// Violation is a rule that does not hold somewhere.
type Violation struct {
	Rule  Rule   `json:"rule"`
	Where string `json:"where"` // a file of the table or checkpoint, a version, a batch
	What  string `json:"what"`
}

// String is one line.
func (v Violation) String() string { return fmt.Sprintf("%s: %s: %s", v.Rule, v.Where, v.What) }

// Batch is what is known of one batch of the query.
type Batch struct {
	ID       int64  `json:"batch"`
	Version  int64  `json:"version"` // of the table; -1: in no version that the log still has
	Epoch    int64  `json:"epoch"`   // of the commit; 0 if another program made it
	Digest   string `json:"digest"`  // "ok"; "differs"; "none": by a writer without digests, such as Spark; "purged": the checkpoint no longer has the entry; "missing": it should still have it; "damaged": the entry cannot be read; "unknown": the log no longer tells
	Recorded bool   `json:"recorded"`
	Lost     bool   `json:"lost,omitempty"`     // recorded before it was committed (delivery: at_most_once), and not in the table: a crash came in between, or, of the newest batch, its commit is still to come
	Rows     int64  `json:"rows"`               // in the table; -1 if unknown
	Replaces bool   `json:"replaces,omitempty"` // the batch replaces rows that the table had: Rows are those that it put in, of which later batches may have replaced some
	Rejected int64  `json:"rejected"`           // in the table of rejected rows; -1 if unknown
	Input    int64  `json:"input"`              // records in the range; -1 if the offsets do not count them
}

// Report is what a look found.
type Report struct {
	Query      string         `json:"query"`
	Version    int64          `json:"version"` // the newest; -1: there is no table
	Oldest     int64          `json:"oldest"`  // the first version that the log still has
	Violations []Violation    `json:"violations"`
	Notices    []string       `json:"notices"` // what could not be verified, and what is worth knowing
	Counts     map[Rule]int64 `json:"counts"`  // facts that were compared, by rule
	Batches    []Batch        `json:"batches"` // ascending
	Orphans    []string       `json:"orphans"` // data files that the log does not name; only after Finish
	Rows       int64          `json:"rows"`    // of the newest version; -1 if unknown
	// Position is what the target said last, if it is no table; then Version and Oldest are -1.
	Position *Position `json:"position,omitempty"`
}

// Err is nil if nothing is broken; otherwise it lists the violations.
func (r *Report) Err() error {
	if len(r.Violations) == 0 {
		return nil
	}
	text := ""
	for _, v := range r.Violations[:min(len(r.Violations), 10)] {
		text += "\n  " + v.String()
	}
	return fmt.Errorf("checker: %d violations:%s", len(r.Violations), text)
}

// maxViolations bounds what a report holds: what follows is rarely news.
const maxViolations = 1000

// broken adds a violation, once.
func (r *Report) broken(rule Rule, where, what string, args ...any) {
	v := Violation{rule, where, fmt.Sprintf(what, args...)}
	if len(r.Violations) < maxViolations && !slices.Contains(r.Violations, v) {
		r.Violations = append(r.Violations, v)
	}
}

// checked counts facts that were compared.
func (r *Report) checked(rule Rule, n int) { r.Counts[rule] += int64(n) }

// notice adds a remark, once.
func (r *Report) notice(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(r.Notices) < maxViolations && !slices.Contains(r.Notices, text) {
		r.Notices = append(r.Notices, text)
	}
}
