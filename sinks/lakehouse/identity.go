package lakehouse

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"microbatch/ident"
	"microbatch/sinks"
	"microbatch/table/datafile"
)

// identity are the names under which a query commits to a table.
type identity struct {
	app    string // txn of the batch id
	digest string // txn of the stored digest
	epoch  string // txn of the epoch
	prefix string // of the txns that tell which query ids have committed for this pipeline and shard
	suffix string
	owner  datafile.Owner
}

func identityOf(q sinks.QueryInfo, suffix string) identity {
	app := string(q.ID) + suffix
	sum := sha256.Sum256([]byte(q.Name + "\x00" + q.Shard.String()))
	return identity{
		app: app, digest: app + "#offsets", epoch: app + "#epoch", prefix: "microbatch/" + hex.EncodeToString(sum[:8]) + "/", suffix: suffix,
		owner: datafile.OwnerOf(app, q.Shard),
	}
}

// presence is the txn that says that the query has committed for this pipeline.
func (i identity) presence() string { return i.prefix + i.app }

// other is the query id that a txn's appId names, if it is another query of this pipeline and shard.
func (i identity) other(appID string) (ident.QueryID, bool) {
	app, ok := strings.CutPrefix(appID, i.prefix)
	if !ok || app == i.app || !strings.HasSuffix(app, i.suffix) {
		return "", false
	}
	return ident.QueryID(strings.TrimSuffix(app, i.suffix)), true
}
