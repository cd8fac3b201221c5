package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// exitSignalled is the exit code after a second signal: that of a program that SIGINT has ended.
const exitSignalled = 130

// untilSignal is a context that ends at SIGINT or SIGTERM. A second one ends the program at once: nothing is lost by it, the next start recovers.
// stop must be called when the work is done.
func untilSignal(ctx context.Context, errs io.Writer, saying string) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case <-done:
			return
		case <-signals:
		}
		fmt.Fprintln(errs, saying)
		cancel()
		select {
		case <-done:
		case <-signals:
			os.Exit(exitSignalled)
		}
	}()
	return ctx, func() { signal.Stop(signals); close(done); cancel() }
}
