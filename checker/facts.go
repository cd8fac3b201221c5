package checker

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// fact is what a table's log tells about a batch of the query.
type fact struct {
	version int64
	epoch   int64  // 0 from another program
	writer  string // <epoch>.<run>
	digest  string // in hex; "" from a writer without digests
	entry   *entry // offsets/<id>, from its text in the log; nil if that is not there
	added   int64  // rows in the files it adds; -1 if the log does not say
	rows    int64  // of the batch that it puts into the table: all that it adds, unless it replaces; -1 if the log does not say
	source  int64  // rows of the batch that the sink got: with those that change nothing or take others out; -1 if the log does not say
	// replaces: the batch takes the place of rows that the table had, so that the files it adds may hold rows of earlier batches.
	replaces bool
	ids      []string
	known    bool // ids were read
	// What was compared already: with the checkpoint's entry, and its epoch with the claim.
	compared *written
	claimed  bool
}

// ledger is what a table's log tells about the query and about whoever else writes to it.
type ledger struct {
	log    *tableLog
	app    string // the query's appId in this table; "" if it is not known yet
	sparse bool   // not every batch comes to this table: that of rejected rows
	facts  map[int64]*fact
	holes  []hole // not judged yet
	// replacing: that batches replace rows was told.
	replacing bool
	lost      map[int64]bool // batches in holes that may be there: recorded before they were committed
}

// hole is batches of the query that are in no version, between two that are, or before the first.
type hole struct {
	version  int64 // of the batch that comes after
	from, to int64 // the first and the last that are missing
	lossy    bool  // a batch beside the hole is recorded before it is committed
	what     string
}

// idBits is how many low bits of a #offsets version hold the batch's number; the other 43 are the digest's first.
const idBits = 20

// stored is the version of #offsets for a digest and batch.
func stored(digest [sha256.Size]byte, batch int64) int64 {
	return int64(binary.BigEndian.Uint64(digest[:8])>>(64-43)<<idBits) | batch&(1<<idBits-1)
}

// isApp reports whether an appId is that of a writer's batches rather than a companion of one.
func isApp(appID string) bool {
	return !strings.Contains(appID, "#") && !strings.HasPrefix(appID, "microbatch/")
}

// judge verifies rules 4 to 6 on one version. before are the txns that it replaces; whole says whether the log was read from its beginning.
func (l *ledger) judge(v *Version, before map[string]int64, whole bool, r *Report) {
	where := l.log.at(v.Number)
	for _, app := range slices.Sorted(maps.Keys(v.Txns)) {
		if base, ok := strings.CutSuffix(app, "#epoch"); ok {
			r.checked(Epoch, 1)
			if was, had := before[app]; had && v.Txns[app] < was {
				r.broken(Epoch, where, "the epoch of query %s goes back from %d to %d", base, was, v.Txns[app])
			}
		}
		if isApp(app) {
			l.judgeBatch(app, v, before, whole, r)
		}
	}
	if c := v.Committed; c != nil {
		l.judgeWords(c, v, r)
	}
}

// judgeBatch verifies that the batches of a writer follow each other.
func (l *ledger) judgeBatch(app string, v *Version, before map[string]int64, whole bool, r *Report) {
	where, batch := l.log.at(v.Number), v.Txns[app]
	code, dated := v.Txns[app+"#offsets"]
	_, ours := v.Txns[app+"#epoch"]
	if !ours && !dated && app != l.app {
		return // some other program's numbers: it may use them as it likes
	}
	r.checked(Txn, 1)
	was, had := before[app]
	sparse := l.sparse || strings.Contains(app, "/")
	switch {
	case had && batch <= was:
		r.broken(Txn, where, "batch %d of query %s comes after batch %d", batch, app, was)
	case had && batch > was+1 && !sparse:
		l.miss(app, hole{version: v.Number, from: was + 1, to: batch - 1,
			what: fmt.Sprintf("batch %d of query %s follows batch %d: %d batches are missing", batch, app, was, batch-was-1)}, v, r)
	case !had && whole && batch > 0 && !sparse:
		l.miss(app, hole{version: v.Number, from: 0, to: batch - 1, what: fmt.Sprintf("batch %d of query %s is its first in this table", batch, app)}, v, r)
	}
	if ours != dated {
		r.broken(Digest, where, "batch %d of query %s has only one of the txns #epoch and #offsets", batch, app)
	}
	if dated && code&(1<<idBits-1) != batch&(1<<idBits-1) {
		r.broken(Digest, where, "the txn #offsets of query %s is of batch %d modulo 2^20, the txn is batch %d", app, code&(1<<idBits-1), batch)
	}
	if ours && (v.Committed == nil || v.Committed.Batch == nil) {
		r.broken(Digest, where, "commitInfo does not tell of batch %d of query %s", batch, app)
	}
}

// miss notes a hole in the batches of a writer. What the checkpoint says of them is not known yet; of another query's it never is, and then what stands in the commit
// beside the hole counts.
func (l *ledger) miss(app string, h hole, v *Version, r *Report) {
	if c := v.Committed; c != nil {
		next, _ := parseEntry(c.Offsets) // reported by judgeWords
		h.lossy = next.recordedFirst()
	}
	if f := l.facts[h.from-1]; app == l.app && f != nil {
		h.lossy = h.lossy || f.entry.recordedFirst()
	}
	switch {
	case app == l.app:
		l.holes = append(l.holes, h)
	case !h.lossy:
		r.broken(Txn, l.log.at(h.version), "%s", h.what)
	}
}

// judgeHoles says of the batches that are in no version whether they may be missing: those that are recorded before they are committed. checkpoint holds the entries
// that are there; nil without a checkpoint.
func (l *ledger) judgeHoles(checkpoint map[int64]*written, r *Report) {
	for _, h := range l.holes {
		allowed := true
		for id := h.from; id <= h.to && allowed; id++ {
			if o := checkpoint[id]; o != nil {
				allowed = o.entry.recordedFirst()
			} else {
				allowed = h.lossy
			}
		}
		if !allowed {
			r.broken(Txn, l.log.at(h.version), "%s", h.what)
			continue
		}
		for id := h.from; id <= h.to; id++ {
			l.lost[id] = true
		}
	}
	l.holes = nil
}

// judgeWords verifies that commitInfo and the txns say the same.
func (l *ledger) judgeWords(c *Committed, v *Version, r *Report) {
	where := l.log.at(v.Number)
	app := l.appOf(c, v)
	if epoch, ok := v.Txns[app+"#epoch"]; !ok || epoch != c.Epoch || epochOf(c.Entry) != c.Epoch {
		r.broken(Epoch, where, "commitInfo says epoch %d by run %q, the txn #epoch of query %s says %d", c.Epoch, c.Entry, app, epoch)
	}
	for name, epoch := range v.Txns {
		if strings.HasPrefix(name, "microbatch/") && strings.HasSuffix(name, "/"+app) && epoch != c.Epoch {
			r.broken(Epoch, where, "the txn %s says epoch %d, commitInfo %d", name, epoch, c.Epoch)
		}
	}
	if c.Batch == nil {
		return
	}
	r.checked(Digest, 1)
	if batch, ok := v.Txns[app]; !ok || batch != *c.Batch {
		r.broken(Digest, where, "commitInfo says batch %d of query %s, the txn does not", *c.Batch, app)
	}
	sum := sha256.Sum256([]byte(c.Offsets))
	if hex.EncodeToString(sum[:]) != c.Digest {
		r.broken(Digest, where, "the digest in commitInfo is not that of the offsets text beside it")
	}
	if code, ok := v.Txns[app+"#offsets"]; ok && code != stored(sum, *c.Batch) {
		r.broken(Digest, where, "the txn #offsets of query %s is not the digest of the offsets text in commitInfo", app)
	}
	if e, err := parseEntry(c.Offsets); err != nil {
		r.broken(Digest, where, "the offsets text in commitInfo cannot be read: %v", err)
	} else if writer := epochOf(e.writer); e.writer != "" && writer > c.Epoch {
		r.broken(Epoch, where, "epoch %d commits an entry that epoch %d wrote", c.Epoch, writer)
	}
}

// appOf is the appId that a commit's words are about: the query's, or that of its rejected rows.
func (l *ledger) appOf(c *Committed, v *Version) string {
	if _, ok := v.Txns[c.Query+"#epoch"]; ok {
		return c.Query
	}
	for app := range v.Txns {
		if base, ok := strings.CutSuffix(app, "#epoch"); ok && strings.HasPrefix(base, c.Query+"/") {
			return base
		}
	}
	return c.Query
}

// note keeps what a version tells about a batch of the query. nil: the version holds none.
func (l *ledger) note(v *Version) *fact {
	batch, ok := v.Txns[l.app]
	if !ok || l.app == "" {
		return nil
	}
	f := &fact{version: v.Number}
	if c := v.Committed; c != nil && c.Batch != nil && *c.Batch == batch {
		f.epoch, f.writer, f.digest = c.Epoch, c.Entry, c.Digest
		f.entry, _ = parseEntry(c.Offsets) // reported by judgeWords
	}
	for _, a := range v.Adds {
		if a.Rows < 0 || f.added < 0 {
			f.added = -1
		} else {
			f.added += a.Rows
		}
	}
	f.rows, f.source = f.added, f.added
	f.noteOperation(v)
	l.facts[batch] = f
	return f
}

// noteOperation keeps what a batch does to the rows that the table has.
func (f *fact) noteOperation(v *Version) {
	switch v.Operation {
	case "MERGE":
		f.replaces, f.rows, f.source = true, v.metrics("numTargetRowsInserted", "numTargetRowsUpdated"), v.metrics("numSourceRows")
	case "WRITE":
		f.replaces = true
	default:
		if dropped := v.metrics("numDroppedRows"); dropped > 0 && f.added >= 0 {
			f.source = f.added + dropped
		}
	}
}

// metrics adds up some operationMetrics; -1 if one is missing or no number.
func (v *Version) metrics(names ...string) (sum int64) {
	for _, name := range names {
		n, err := strconv.ParseInt(v.Metrics[name], 10, 64)
		if err != nil {
			return -1
		}
		sum += n
	}
	return sum
}

// newest is the query's newest batch in the table; -1 if there is none.
func (l *ledger) newest() int64 {
	if l.log.state != nil {
		if n, ok := l.log.state.txns[l.app]; ok && l.app != "" {
			return n
		}
	}
	return -1
}

// judgeCounts verifies that commitInfo, statistics and files count the same rows.
func (l *ledger) judgeCounts(v *Version, f *fact, removed []File, r *Report) {
	if text, ok := v.Metrics["numOutputRows"]; ok && f.added >= 0 {
		r.checked(Count, 1)
		if n, err := strconv.ParseInt(text, 10, 64); err != nil || n != f.added {
			r.broken(Count, l.log.at(v.Number), "commitInfo says %s rows, the statistics of its files %d", text, f.added)
		}
	}
	if v.Operation == "MERGE" {
		l.judgeMerge(v, f, removed, r)
	}
}

// judgeMerge verifies that every row of the files that a batch takes out is accounted for, and every row of those that it adds.
func (l *ledger) judgeMerge(v *Version, f *fact, removed []File, r *Report) {
	out := int64(0)
	for i := range removed {
		if removed[i].Rows < 0 {
			return
		}
		out += removed[i].Rows
	}
	r.checked(Count, 1)
	if n := v.metrics("numTargetRowsCopied", "numTargetRowsUpdated", "numTargetRowsDeleted"); n >= 0 && n != out {
		r.broken(Count, l.log.at(v.Number), "the files that it takes out have %d rows, but commitInfo says that %d were copied, updated or deleted", out, n)
	}
	if n := v.metrics("numTargetRowsCopied", "numTargetRowsUpdated", "numTargetRowsInserted"); n >= 0 && f.added >= 0 && n != f.added {
		r.broken(Count, l.log.at(v.Number), "the files that it adds have %d rows, but commitInfo says that %d were copied, updated or inserted", f.added, n)
	}
}

// others lists the query ids that have committed for the same pipeline and shard.
func (l *ledger) others() (ids []string) {
	if l.log.state == nil {
		return nil
	}
	for app := range l.log.state.txns {
		if hash, ok := strings.CutSuffix(app, "/"+l.app); ok && strings.HasPrefix(app, "microbatch/") {
			for other := range l.log.state.txns {
				if id, ok := strings.CutPrefix(other, hash+"/"); ok && id != l.app && (strings.Contains(id, "/") == strings.Contains(l.app, "/")) {
					ids = append(ids, id)
				}
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// queries are the appIds with an epoch, as this program's queries have.
func (l *ledger) queries() (apps []string) {
	if l.log.state == nil {
		return nil
	}
	for app := range l.log.state.txns {
		if base, ok := strings.CutSuffix(app, "#epoch"); ok {
			apps = append(apps, base)
		}
	}
	slices.Sort(apps)
	return apps
}

// adopt takes the query of the first batch for the one that is meant, if none was named.
func (l *ledger) adopt(v *Version) {
	if c := v.Committed; l.app == "" && c != nil {
		if app := l.appOf(c, v); strings.Contains(app, "/") == l.sparse {
			l.app = app
		}
	}
}
