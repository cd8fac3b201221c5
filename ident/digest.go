package ident

import (
	"crypto/sha256"
	"encoding/hex"
)

// Digest identifies a batch beyond its id: the sha256 of the bytes of its offsets entry. Every sink commit stores it.
type Digest [sha256.Size]byte

// DigestOf is the digest of the bytes of an offsets entry.
func DigestOf(entry []byte) Digest { return sha256.Sum256(entry) }

// String is the digest in lower-case hex.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// idBits is how many low bits of a StoredDigest hold the batch id.
const idBits = 20

// StoredDigest is a digest as a table log keeps it in a 63-bit number: the first 43 bits of the digest, then the batch id modulo 2^20.
type StoredDigest int64

// Stored is the number kept beside batch id in a sink that has room for one integer.
func (d Digest) Stored(id BatchID) StoredDigest {
	var first int64
	for _, b := range d[:8] {
		first = first<<8 | int64(b)
	}
	first = int64(uint64(first) >> (64 - 43))
	return StoredDigest(first<<idBits | int64(id)&(1<<idBits-1))
}

// OfBatch reports whether the id part says batch id. If it does not, the visible batch came from a writer without digests.
func (s StoredDigest) OfBatch(id BatchID) bool {
	return int64(s)&(1<<idBits-1) == int64(id)&(1<<idBits-1)
}
