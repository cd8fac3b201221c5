// Package checker verifies what a query has written against its checkpoint, and against the input, without any code of what it verifies: it has its own
// reader of table logs, of log checkpoints, of query checkpoints and of data files.
//
// A Watcher looks at a table as often as wanted, while drivers work, crash and fight over it, and reports each broken rule once. Check looks once. What is
// verified, by the names of the rules:
//
//	log        1  versions have no holes; a version's bytes never change; an entry holds nothing twice (paths, appIds, metaData); the table keeps its id
//	files      2  no path is added while it is live, and removed only while it is live; every live file is there, as long as the log says, with the rows it says
//	summary    3  a log checkpoint holds exactly what the versions up to its own add up to: live files and txns
//	txn        4  the batches of a query in the log are 0, 1, 2, ... (those of a table of rejected rows rise), each once
//	epoch      5  the epoch of a query never falls, was claimed in the checkpoint by the run that the commit names, and is the same in all places of a commit
//	digest     6  the sha256 of offsets/<id> is the one in commitInfo, and its first 43 bits are in #offsets beside the batch's number; entry id and text agree
//	ids        7  ids of offsets/ and commits/ have no holes above the low watermark; commits is a part of offsets, one at most is pending; an entry never changes;
//	              a recorded batch is in the table; the table holds no batch that the checkpoint does not have
//	ranges     8  a batch ends where it begins or later, in every partition; what was once read never vanishes
//	loss       9  after each version the table's rows are the model's for the input up to the end of that version's batch: none is missing,
//	duplicate 10  none is there twice,
//	phantom   11  and none is there that the model does not know
//	rewrite   12  a version that only moves rows (dataChange false) has the same rows before and after
//	count     13  rows of the source = rows in the table + filtered + rejected, batch by batch; what commitInfo and statistics count is what the files hold
//	rejected  14  the table of rejected rows holds exactly the model's rejected rows of each batch, with the batch's digest, none of a batch that is not fixed
//	orphan    15  data files that the log does not name were left by attempts that are known to have failed
//
// Rules 9 to 12 need rows to be known apart: Input.IDs names the columns whose values together are unique. Rules 9 to 11, and the exact half of 13 and 14,
// need a Model. Versions of other writers are taken as they are (Input.Foreign may refuse them): their rows are followed through later rewrites.
//
// A Target is what a query writes to that is no table; somebody else reads it. A TargetWatcher looks at it, CheckTarget once. The rules, where they are others:
//
//	txn        the batch that the target holds never falls
//	epoch      its epoch never falls, was claimed in the checkpoint, by the run that the target names, and is not below the entry's
//	digest     the digest that it keeps of its batch is that of offsets/<id>, as much of it as there is, and stays
//	ids        a recorded batch is in the target; the target holds no batch that the checkpoint does not have
//	loss, duplicate, phantom   its rows are the model's for the input up to the end of its batch. If its position moves while the rows are read: at least
//	           those of the batch before, and none that the batch after does not have. A target that keeps no batches holds the recorded ones at least, and
//	           the fixed one at most; TargetInput.Twice allows rows more than once
//	rejected   the rejected rows of each batch that it holds are the model's
//
// Which batches may be missing because they were recorded before they were committed (delivery: at_most_once) their entries in the checkpoint say: of these
// all rows are there or none, in part only where the target keeps no batches.
//
// What it cannot see: rows of files that vacuum has deleted (their versions are compared as a whole by the next one), rows hidden by deletion vectors, the
// rows of batches whose input it is not told, and of a target the batches before its newest, but for their rows.
//
// Memory: a line per version and live file. With IDs, all ids of the table too: that is for simulations and tests.
package checker
