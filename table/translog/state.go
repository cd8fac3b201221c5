package translog

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"microbatch/table/action"
)

// State is what a writer must know of a table at a version: everything but the list of files. It is never changed; apply makes a new one.
type State struct {
	Version  int64
	Protocol action.Protocol
	Metadata action.Metadata
	Txns     map[string]action.Txn            // by appId
	Domains  map[string]action.DomainMetadata // live ones, by domain

	base            *checkpoint // that it was read from, nil if none
	checkpoint      int64       // version of the newest table checkpoint known, -1 if none
	checkpointBytes int64
	commits         int    // since that checkpoint
	commitBytes     int64  // of them
	durable         bool   // the tip is ours, or was synced
	tip             string // by what the newest entry is known again (entry.tip), "" if it was not read: a checkpoint stands for it
	ended           moment // when there was nothing behind the tip yet: before we put it; zero if it is not ours, or its answer was lost
	before          *State // the state that it was put behind, if nobody has looked at that since: version, tip and metadata alone
}

// begin is the version of the first entry that the state was read from.
func (s *State) begin() int64 {
	if s.base == nil {
		return 0
	}
	return s.base.version + 1
}

// emptyState is the state before version 0.
func emptyState() *State {
	return &State{Version: -1, checkpoint: -1, Txns: map[string]action.Txn{}, Domains: map[string]action.DomainMetadata{}}
}

// Txn is the newest version of an application, ok false if it never committed.
func (s *State) Txn(appID string) (version int64, ok bool) {
	t, ok := s.Txns[appID]
	return t.Version, ok
}

// apply is the state after version's entry.
func (s *State) apply(version int64, e entry) *State {
	n := *s
	n.Version, n.durable, n.tip, n.ended, n.before = version, false, e.tip(), moment{}, nil
	n.commits++
	n.commitBytes += int64(len(e.data))
	n.Txns, n.Domains = maps.Clone(s.Txns), maps.Clone(s.Domains)
	for i := range e.actions {
		n.take(&e.actions[i])
	}
	return &n
}

// take lets one action replace what had its key.
func (s *State) take(a *action.Action) {
	switch {
	case a.Protocol != nil:
		s.Protocol = *a.Protocol
	case a.Metadata != nil:
		s.Metadata = *a.Metadata
	case a.Txn != nil:
		s.Txns[a.Txn.AppID] = *a.Txn
	case a.DomainMetadata != nil && a.DomainMetadata.Removed:
		delete(s.Domains, a.DomainMetadata.Domain)
	case a.DomainMetadata != nil:
		s.Domains[a.DomainMetadata.Domain] = *a.DomainMetadata
	}
}

// Property is a table property, or "".
func (s *State) Property(name string) string { return s.Metadata.Configuration[name] }

// Defaults of the Delta protocol, and ours for what it leaves open.
const (
	defaultLogRetention  = 30 * 24 * time.Hour
	defaultFileRetention = 7 * 24 * time.Hour
	minCheckpointCommits = 10
	maxCheckpointCommits = 100
	// MinRetention is how long log entries and replaced files are kept at least: longer than any attempt of a batch may live (24 h).
	MinRetention = 48 * time.Hour
)

// FileRetention is how long removed files are kept: delta.deletedFileRetentionDuration, a week by default.
func (s *State) FileRetention() time.Duration {
	return s.interval("delta.deletedFileRetentionDuration", defaultFileRetention)
}

// LogRetention is how long log entries are kept: delta.logRetentionDuration, 30 days by default.
func (s *State) LogRetention() time.Duration {
	return s.interval("delta.logRetentionDuration", defaultLogRetention)
}

// CheckpointDue says whether a table checkpoint should be written: the property delta.checkpointInterval decides; without it, once 10 commits and
// 20 % of the last checkpoint's bytes have come, and after 100 commits at the latest. So the cost of checkpoints stays in proportion to the commits.
func (s *State) CheckpointDue() bool {
	if n, err := strconv.Atoi(s.Property("delta.checkpointInterval")); err == nil && n > 0 {
		return s.commits >= n
	}
	return s.commits >= maxCheckpointCommits || s.commits >= minCheckpointCommits && s.commitBytes*5 >= s.checkpointBytes
}

func (s *State) interval(property string, otherwise time.Duration) time.Duration {
	if d, ok := parseInterval(s.Property(property)); ok {
		return d
	}
	return otherwise
}

// parseInterval reads Spark's "interval 30 days" or "2 weeks".
func parseInterval(text string) (time.Duration, bool) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) > 0 && words[0] == "interval" {
		words = words[1:]
	}
	if len(words) == 0 || len(words)%2 != 0 {
		return 0, false
	}
	var sum time.Duration
	for i := 0; i < len(words); i += 2 {
		n, err := strconv.ParseInt(words[i], 10, 64)
		unit := map[string]time.Duration{
			"week": 7 * 24 * time.Hour, "day": 24 * time.Hour, "hour": time.Hour, "minute": time.Minute,
			"second": time.Second, "millisecond": time.Millisecond, "microsecond": time.Microsecond,
		}[strings.TrimSuffix(words[i+1], "s")]
		if err != nil || unit == 0 || n < 0 || n > int64(1<<62)/int64(unit) {
			return 0, false
		}
		sum += time.Duration(n) * unit
	}
	return sum, true
}
