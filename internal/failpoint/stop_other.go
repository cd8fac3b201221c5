//go:build failpoints && !linux

package failpoint

import "syscall"

// send sends a signal to the process. A stop may begin a moment later.
func send(signal syscall.Signal) { syscall.Kill(syscall.Getpid(), signal) }
