// Package faultstore wraps a store and makes chosen calls go wrong. For each write there are two faults: it is not done and fails, or it is done and its answer
// is lost. A rule in text:
//
//	<op>[:<key prefix>][#<n>] fail|lose|slow [<error>]
//
//	putifabsent:offsets/#3 lose uncertain    the third PutIfAbsent below offsets/ is done and reported as ErrUncertain
//	commit#1 fail                            the first Commit of a writer does nothing and fails
//	get:metadata fail missing                every Get of metadata finds nothing
//	putifabsent slow                         every PutIfAbsent waits until its context ends or the rule's Release is closed
//
// op is one of put, putifabsent, create, write, commit, abort, get, open, read, stat, list, delete, sync, lock, or * for all. The error is exist, missing,
// uncertain, fsync, locked, or nothing for an error of its own. The first rule that matches a call decides. The prefix is tried against the key, for list against
// the prefix that is listed.
package faultstore
