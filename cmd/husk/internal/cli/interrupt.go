package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interrupts turns the signals of a user who wants to stop into what the engine
// understands.
type interrupts struct {
	// stop is closed by the first: running steps finish, no others start.
	stop <-chan struct{}
	// end ends the watch.
	end func()
}

// watchInterrupts watches for Ctrl-C and SIGTERM. The first closes stop, the
// second cancels the context that is returned, the third ends the process.
func watchInterrupts(parent context.Context, say func(message string)) (context.Context, interrupts) {
	ctx, cancel := context.WithCancel(parent)
	stop := make(chan struct{})
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	finished := make(chan struct{})
	go func() {
		for n := 1; ; n++ {
			select {
			case <-finished:
				return
			case <-signals:
			}
			switch n {
			case 1:
				say("Stopping: what is running finishes first. Press Ctrl-C again to stop now.")
				close(stop)
			case 2:
				say("Stopping now: what was cut off is reported by the next run.")
				cancel()
			default:
				os.Exit(exitFailed)
			}
		}
	}()
	return ctx, interrupts{stop: stop, end: func() {
		signal.Stop(signals)
		close(finished)
		cancel()
	}}
}
