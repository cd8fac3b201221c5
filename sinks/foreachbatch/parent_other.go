//go:build unix && !linux

package foreachbatch

import "syscall"

// endWithParent does nothing: the system cannot tie a program to its parent.
func endWithParent(*syscall.SysProcAttr) {}
