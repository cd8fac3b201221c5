// Package figures collects what the proofs have counted: kills by fault point, takeovers, injected errors, seeds. A test adds its counts to the file that the
// environment names, and one command adds them up and prints them, so that the figures of docs/exactly-once.md can be repeated.
//
//	PROOF_FIGURES=/tmp/figures.jsonl    one JSON object a line, appended:
//	{"name":"kills at commit.after","value":3}
//
// The same name may stand on several lines, of several processes: the figure is their sum.
package figures
