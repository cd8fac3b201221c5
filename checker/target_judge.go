package checker

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"microbatch/objstore"
)

// position is the place of violations that the target's own word shows.
const position = "position"

// judgeMove verifies what a position is now against what it was.
func (t *TargetWatcher) judgeMove(now Position) {
	r, was := t.log.report, t.last
	t.last = &now
	if was == nil {
		return
	}
	r.checked(Txn, 1)
	switch {
	case was.Keeps && !now.Keeps:
		r.broken(Txn, position, "the sink held batch %d, and says now that it keeps no batches", was.Batch)
		return
	case !now.Keeps:
		return
	case now.Batch < was.Batch:
		r.broken(Txn, position, "the sink holds %s; it held %s", upTo(now.Batch), upTo(was.Batch))
	case now.Batch == was.Batch && now.Digest != was.Digest:
		r.broken(Digest, position, "batch %d had digest %s and has %s now", now.Batch, was.Digest, now.Digest)
	}
	r.checked(Epoch, 1)
	if now.Epoch < was.Epoch {
		r.broken(Epoch, position, "the epoch goes back from %d to %d", was.Epoch, now.Epoch)
	}
}

// compare verifies that target and checkpoint tell the same. recorded was listed before the target was read, all else of the checkpoint after it.
func (t *TargetWatcher) compare(s seen, recorded map[int64]objstore.Info) {
	if !s.after.Keeps {
		return
	}
	t.compareRecorded(s.before.Batch, recorded)
	r, q, now := t.log.report, t.log.query, s.after
	r.checked(IDs, 1)
	if last := q.last(); now.Batch > last {
		r.broken(IDs, fmt.Sprintf("offsets/%d", now.Batch), "the sink holds batch %d, which the checkpoint does not have: it holds %s", now.Batch, upTo(last))
	}
	t.compareDigest(s.before)
	t.compareEpoch(s.before)
	if s.after != s.before {
		t.compareDigest(s.after)
		t.compareEpoch(s.after)
	}
}

// compareRecorded verifies that the recorded batches are in the target, whose newest is given.
func (t *TargetWatcher) compareRecorded(newest int64, recorded map[int64]objstore.Info) {
	r, q := t.log.report, t.log.query
	for _, id := range slices.Sorted(maps.Keys(recorded)) {
		if id <= q.low {
			continue
		}
		r.checked(IDs, 1)
		if id > newest && !t.atMostOnce[id] { // else it is about to come, or is lost
			r.broken(IDs, fmt.Sprintf("commits/%d", id), "batch %d is recorded, but not in the sink, which holds %s", id, upTo(newest))
		}
	}
}

// has reports whether the target's digest is the beginning of the entry's.
func (w *written) has(digest string) bool {
	return digest != "" && strings.HasPrefix(hex.EncodeToString(w.sum[:]), strings.ToLower(digest))
}

// compareDigest verifies that the checkpoint's entry is the one that was committed.
func (t *TargetWatcher) compareDigest(p Position) {
	r, o := t.log.report, t.log.query.offsets[p.Batch]
	if o == nil || o.entry == nil {
		return // said already, or purged
	}
	r.checked(Digest, 1)
	where := fmt.Sprintf("offsets/%d", p.Batch)
	if p.Digest == "" {
		r.broken(Digest, where, "the sink holds batch %d without a digest", p.Batch)
	} else if !o.has(p.Digest) {
		r.broken(Digest, where, "the sink holds batch %d with another digest: it covers other offsets than the entry", p.Batch)
	}
}

// compareEpoch verifies that the epoch was claimed by the run that committed.
func (t *TargetWatcher) compareEpoch(p Position) {
	r, q := t.log.report, t.log.query
	if p.Epoch == 0 && p.Entry == "" {
		return
	}
	r.checked(Epoch, 1)
	if newest := q.newestEpoch(); p.Epoch > newest {
		r.broken(Epoch, fmt.Sprintf("_engine/epoch/%d", p.Epoch), "the sink holds epoch %d, the checkpoint's newest is %d", p.Epoch, newest)
	}
	by := p.Epoch
	if p.Entry != "" {
		by = epochOf(p.Entry)
		if by < 1 || by > p.Epoch {
			r.broken(Epoch, position, "run %q has committed batch %d, but the sink's epoch is %d", p.Entry, p.Batch, p.Epoch)
		}
		if claim, ok := q.epochs[by]; ok && claim != p.Entry {
			r.broken(Epoch, position, "run %s has committed batch %d in epoch %d, which run %s has claimed", p.Entry, p.Batch, by, claim)
		}
	}
	if o := q.offsets[p.Batch]; o != nil && by < o.epoch {
		r.broken(Epoch, position, "epoch %d has committed batch %d, whose entry epoch %d wrote", by, p.Batch, o.epoch)
	}
}
