//go:build unix

package foreachbatch

import (
	"os/exec"
	"runtime"
	"syscall"
)

// runGroup runs the program in a process group of its own, which is killed as a whole when the context ends.
func runGroup(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	// The kernel takes the end of the thread that started the program for the end of the parent, so the thread stays until the program has ended.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return cmd.Run()
}
