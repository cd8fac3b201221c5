//go:build !unix

package foreachbatch

import "os/exec"

// runGroup runs the program; where there are no process groups only the program itself is killed when the context ends.
func runGroup(cmd *exec.Cmd) error { return cmd.Run() }
