package datafile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"microbatch/ident"
)

// Owner is the part of a file name that says which query and shard wrote it.
type Owner string

// OwnerOf is the owner of an application id (a query id, perhaps with a suffix) and shard.
func OwnerOf(appID string, shard ident.Shard) Owner {
	sum := sha256.Sum256([]byte(appID + "\x00" + shard.String()))
	return Owner(hex.EncodeToString(sum[:8]))
}

// Prefixes of file names.
const (
	PrefixPart     = "part"
	PrefixOptimize = "opt"
)

// Name is what the names of one attempt's files have in common.
type Name struct {
	Prefix  string // PrefixPart or PrefixOptimize
	Owner   Owner
	Batch   ident.BatchID
	Attempt ident.Attempt
}

// file is the name of the attempt's n-th file.
func (m Name) file(n int, codec string) string {
	return fmt.Sprintf("%s-%05d-%s-%s-%s.%s.parquet", m.Prefix, n, m.Owner, m.Batch, m.Attempt, codec)
}

// Wrote reports whether the file at a key is one that some attempt of the owner wrote for the batch.
func Wrote(key string, owner Owner, batch ident.BatchID) bool {
	name := key[strings.LastIndexByte(key, '/')+1:]
	f := strings.Split(name, "-")
	return len(f) == 5 && f[0] == PrefixPart && f[2] == string(owner) && f[3] == batch.String() && strings.HasSuffix(name, ".parquet")
}
