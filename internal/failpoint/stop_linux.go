//go:build failpoints

package failpoint

import (
	"runtime"
	"syscall"
)

// send sends a signal to the process by way of the calling thread, so that a stop begins here: a signal that any thread may take would let this goroutine go on for
// a while.
func send(signal syscall.Signal) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	syscall.Tgkill(syscall.Getpid(), syscall.Gettid(), signal)
}
