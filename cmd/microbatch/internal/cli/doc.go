// Package cli is the command line: one file for each command, and Main, which runs one and gives the exit code.
//
// What every command keeps to: results go to standard output, everything else to standard error; an error ends in its code, what is safe and what
// to do next; the exit code is that of the error's class (docs/cli.md); --json writes what scripts read.
package cli
