// Package security holds tests of promises that span packages: what no source file may contain, what the program is not linked with, and that every parser of
// foreign bytes has a fuzz target that says what holds. docs/security.md lists the promises.
package security
