// Package objstore is the contract for where bytes live: a flat space of keys with an atomic put-if-absent.
//
// Keys are relative, "/"-separated and clean (no empty, "." or ".." element, no leading or trailing slash). All logs of the project rest on four promises:
//
//	(S1) PutIfAbsent is atomic: of any number of concurrent calls for a fresh key exactly one succeeds, and the content appears whole or not at all.
//	(S2) When PutIfAbsent, Put, Writer.Commit or Sync has returned nil, the content survives a power failure, and so does the way to it.
//	(S3) After a successful put, Get, Stat and List of any process see it.
//	(S4) A lost answer is settled by the store itself: it repeats the same conditional put until it is answered and then reads by identity who won.
//	     Equal bytes prove nothing. What it cannot settle within its budget is ErrUncertain.
//
// Content that need not fit in memory is put by PutContentIfAbsent and PutContent, which keep the same promises.
//
// Errors: a missing key is fs.ErrNotExist and a taken one fs.ErrExist (both by errors.Is).
package objstore
