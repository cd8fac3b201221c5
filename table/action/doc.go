// Package action is the vocabulary of a table log: Delta Lake's actions as Go values, their JSON lines, and the text forms of paths.
//
// A commit is one action a line, UTF-8, each line ended by LF:
//
//	{"commitInfo":{...}}      first; who, when, why; free-form
//	{"protocol":{...}}        what a reader and a writer must understand
//	{"metaData":{...}}        id, schema, partition columns, properties
//	{"txn":{...}}             an application's version: here a query's batch id, digest or epoch
//	{"add":{...}}             a data file belongs to the table from now on
//	{"remove":{...}}          ... no longer
//	{"domainMetadata":{...}}  settings of a feature
//	{"sidecar":{...}}         only in a checkpoint: actions that stand in another file
//
// Actions replace each other by key when a log is replayed: protocol and metaData have one, txn is keyed by appId, domainMetadata by domain,
// add and remove by path and deletion vector. One commit must not hold two actions with the same key (A1); Decode checks it.
//
// Unknown fields are ignored, and unknown actions of a Delta log too, as its protocol demands. null is no action.
package action
