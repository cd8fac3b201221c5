// Package crashfs is a file system in memory that can lose power. It is as forgetful as POSIX allows:
//
//   - a write is durable when its file has been synced since, not before; of the rest each block of 4 KiB may or may not be there, and reads as zeros if not;
//   - a name is durable when its folder has been synced since, and so is the removal of one; of the rest each change may or may not have happened, a
//     rename within a folder as a whole;
//   - a folder whose own name is lost is gone with all that is in it.
//
// A test sweeps a program: CrashAt(k) makes operation k and all later ones fail, Crash gives the disk as the next process finds it, for k = 1, 2, ... until
// the program ends with Lost() still false.
package crashfs
