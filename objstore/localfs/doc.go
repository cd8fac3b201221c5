// Package localfs keeps objects as files of one folder.
//
// A key is a path below the folder. A write goes to a temporary file beside its target and becomes visible in one step:
//
//	PutIfAbsent(dir/x)   dir/.x.<uuid>.tmp   write, fsync, link to dir/x, fsync dir, unlink the temporary name
//	Put(dir/x)           dir/.x.<uuid>.tmp   write, fsync, rename to dir/x, fsync dir
//	Create(dir/x)        dir/.x.tmp          write; Commit: fsync, rename to dir/x, fsync dir
//
// Invariants:
//
//	(L1) A name without a leading dot is a whole object whose content was fsynced before the name was made.
//	(L2) A nil error means that the name is durable too, and each folder on the way to it: a folder that this process has not seen durable is fsynced in
//	     its parent first, whoever made it.
//	(L3) A failed fsync is objstore.ErrFsync and is not tried again: the kernel may have dropped the pages and forgotten the error. A folder whose fsync has
//	     failed fails every later call of the same Store that needs it. What happened is left to a new process that reads the disk.
//	(L4) Nothing outside the folder is touched, whatever a key or a symbolic link says (os.Root).
//
// Names that begin with a dot are not listed: temporary files, the lock, and the checksum files ".x.crc" that Hadoop writes beside x. Such a side file is removed
// when x is written or deleted, because Hadoop would hold the new content against it. Links to files within the folder are followed, links to folders
// are not. Deleting the last object of a folder leaves the folder.
//
// Directory fsyncs are shared: one that starts after several writers of a folder have made their names serves them all.
//
// Fault points: localfs.put.written, localfs.put.linked, localfs.put.synced, localfs.create.written, localfs.create.renamed.
package localfs
