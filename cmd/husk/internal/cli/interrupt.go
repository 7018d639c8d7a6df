package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/husk-dev/husk/internal/display"
)

// Stage is the effect of an interrupt on a running command.
type Stage struct {
	// Message is for the user; empty for none.
	Message string
	Do      func()
}

// Stopping says what the first interrupt of a deployment does.
const Stopping = "Stopping: waiting for running steps to finish. Press Ctrl-C again to stop now."

const (
	// endTime is how long a command may take to end after its second interrupt. Guests have five seconds to report the outcome of
	// their work. By then all outcomes are recorded, and the rest may wait forever, for example for a reader of the output.
	endTime = 8 * time.Second
	// sayTime is how long an interrupt waits for its message to be written, in case nobody reads it.
	sayTime = 100 * time.Millisecond
)

// interruptSignals returns the signals of Ctrl-C, a service manager, and a closed terminal, unless the
// command was started to outlive its terminal.
func interruptSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// Heed handles interrupts. The first and the second have a stage each. After the second, the command has endTime to end, and a
// third ends it immediately. If the reader of the output goes away, that counts as a first interrupt, never as a second. It takes
// effect before the write returns.
func (a *App) Heed(say func(message string), first, second Stage) (end func()) {
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, interruptSignals()...)
	unheed := a.signals.Heed()
	if first.Do != nil {
		first.Do = sync.OnceFunc(first.Do)
	}
	gone := make(chan struct{}, 2)
	for _, out := range []*display.Output{a.Out, a.Errs} {
		out.OnGone(func() {
			if first.Do != nil {
				first.Do()
			}
			gone <- struct{}{}
		})
	}
	finished, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for n := 0; ; {
			tell, another := say, true
			select {
			case <-finished:
				return
			case s := <-signals:
				another = s != syscall.SIGHUP // the terminal sends it, and the shell as well
			case <-gone:
				tell, another = a.Remark, false
			}
			if n > 0 && !another {
				continue
			}
			n++
			switch n {
			case 1:
				first.begin(tell)
			case 2:
				forced := time.AfterFunc(endTime, func() {
					Stage{Message: "Some steps could not be stopped: the next run reports what was interrupted."}.begin(a.Remark)
					os.Exit(ExitFailed)
				})
				defer forced.Stop()
				second.begin(tell)
			default:
				os.Exit(ExitFailed)
			}
		}
	}()
	return func() {
		unheed()
		signal.Stop(signals)
		for _, out := range []*display.Output{a.Out, a.Errs} {
			out.OnGone(func() {})
		}
		close(finished)
		<-over // it may be writing a message
	}
}

// begin writes the message and calls do.
func (s Stage) begin(say func(message string)) {
	if s.Message != "" && say != nil {
		said := make(chan struct{})
		go func() {
			say(s.Message)
			close(said)
		}()
		select {
		case <-said:
		case <-time.After(sayTime):
		}
	}
	if s.Do != nil {
		s.Do()
	}
}

// WatchInterrupts handles interrupts until end is called. The first closes stop: running steps finish, no
// others start. The second cancels the returned context.
func (a *App) WatchInterrupts(parent context.Context, say func(message string)) (ctx context.Context, stop <-chan struct{}, end func()) {
	ctx, cancel := context.WithCancel(parent)
	stopped := make(chan struct{})
	unheed := a.Heed(say,
		Stage{Stopping, func() { close(stopped) }},
		Stage{"Stopping now: the next run reports what was interrupted.", cancel})
	return ctx, stopped, func() {
		unheed()
		cancel()
	}
}

// OnInterrupt returns a channel that the first interrupt closes.
func (a *App) OnInterrupt() (stop <-chan struct{}, end func()) {
	stopped := make(chan struct{})
	return stopped, a.Heed(nil, Stage{Do: func() { close(stopped) }}, Stage{})
}
