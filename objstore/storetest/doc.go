// Package storetest is the conformance suite of objstore.Store: every store of the project runs it, and a store of your own should.
//
// The promises it holds a store to are those of package objstore: (S1) by races and by a linearizability check of random histories, (S3) by reading after each
// write, (S4) in so far as the store under test is made to lose answers. (S2), durability, needs a disk that can lose power: see localfs/crashfs.
package storetest
