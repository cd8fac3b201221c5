// Package filestage is a sink that makes each batch one folder of files on local disk, by staging and one rename. It is also the example of a sink of one's own:
// all of two-phase commit, in small.
//
//	out/
//	  batch-000000000007-5f0c…/          a batch, visible: part-00000.ndjson …, and _batch.json, its record
//	  _microbatch/5f0c…/                 what the sink keeps of this query
//	    query.json                         whose it is
//	    ledger/000000000007.json           the records of the newest batches, so that readers may delete folders they have read
//	    staging/3/a81b…/                   an attempt of epoch 3, invisible
//
// Readers use the glob batch-*/*.ndjson. How the contract's rules are kept:
//
//	(K1) Prepare writes and syncs an attempt's folder, with the record in it; Commit renames the folder. A rename is one step: all files appear, or none.
//	(K2) The record holds batch id, digest and epoch, and is in the folder that appears.
//	(K3) A folder that has files is never replaced by a rename. Commit then reads the record that is there: our digest means that it was done before.
//	(K4) An attempt is staged below its epoch's folder. Whoever claims an epoch first makes its own folder, then takes those of older epochs away, each by one rename: the rename of an
//	     older driver finds its source gone. Who finds a newer folder after making its own has lost the race and stops.
//	(K5) Local disks answer; an error of the rename stops the query, and the next start looks at what is there.
//	(K6) Check and Visible only read.
//
// The folder must be on one file system. A failed fsync is never tried again.
package filestage
