// Package failpoint gives names to the places where a crash is tried. Without the build tag "failpoints" every function is empty and costs nothing.
//
// A point is Hit(name), with names like "commit.before" (phase, then place) or "localfs.put.linked". With the tag, what happens at a point is set by the program
// (Set) or by the environment for a child process:
//
//	MICROBATCH_FAILPOINT=commit.after:kill:3    SIGKILL to itself at the third hit
//	MICROBATCH_FAILPOINT=intend.before:stop     SIGSTOP to itself at the first hit
//	MICROBATCH_FAILPOINT=commit.after:kill:3,record.after:stop:9
package failpoint
