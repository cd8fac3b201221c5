//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// catchFileLimit turns the signal at the limit of a file's size (ulimit -f), which would end the program without a word, into an error of the write.
// Programs that it starts have the signal as usual.
func catchFileLimit() { signal.Notify(make(chan os.Signal, 1), syscall.SIGXFSZ) }
