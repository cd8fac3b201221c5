package filestage

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strconv"
	"strings"

	"microbatch/ident"
)

const (
	private    = "_microbatch" // names that begin with _ are skipped by Spark and others
	recordName = "_batch.json"
	gone       = "gone-"
	// kept is how many records of the ledger stay: as many as the checkpoint has entries at least.
	kept = 100
)

// layout names the places of one query in the folder.
type layout struct {
	hash string // of query id and shard
}

func layoutOf(query ident.QueryID, shard ident.Shard) layout {
	sum := sha256.Sum256([]byte(string(query) + "\x00" + shard.String()))
	return layout{hex.EncodeToString(sum[:8])}
}

func (l layout) home() string    { return path.Join(private, l.hash) }
func (l layout) owner() string   { return path.Join(l.home(), "query.json") }
func (l layout) ledger() string  { return path.Join(l.home(), "ledger") }
func (l layout) staging() string { return path.Join(l.home(), "staging") }

// ground is where the attempts of an epoch are staged. Without it nothing of the epoch can become visible.
func (l layout) ground(e ident.Epoch) string { return path.Join(l.staging(), e.String()) }

// gone is what the ground of an epoch is called when it was taken from it.
func (l layout) gone(e ident.Epoch) string { return path.Join(l.staging(), gone+e.String()) }

func (l layout) attempt(e ident.Epoch, a ident.Attempt) string {
	return path.Join(l.ground(e), string(a))
}

// batch is a visible batch's folder.
func (l layout) batch(id ident.BatchID) string {
	return fmt.Sprintf("batch-%012d-%s", id, l.hash)
}

// idOf is the batch of a name in the folder, if it is one of this query.
func (l layout) idOf(name string) (ident.BatchID, bool) {
	digits, ok := strings.CutPrefix(name, "batch-")
	if ok {
		digits, ok = strings.CutSuffix(digits, "-"+l.hash)
	}
	if !ok {
		return 0, false
	}
	return number(digits)
}

func (l layout) record(id ident.BatchID) string { return path.Join(l.batch(id), recordName) }

// entry is a batch's record in the ledger.
func (l layout) entry(id ident.BatchID) string {
	return path.Join(l.ledger(), fmt.Sprintf("%012d.json", id))
}

// number is the batch id in a name.
func number(digits string) (ident.BatchID, bool) {
	n, err := strconv.ParseInt(digits, 10, 64)
	return ident.BatchID(n), err == nil && n >= 0
}
