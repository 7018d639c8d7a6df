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

// stage is the effect of an interrupt on a running command.
type stage struct {
	// message is for the user; empty for none.
	message string
	do      func()
}

const (
	// endTime is how long a command may take to end after its second interrupt. Guests have five seconds
	// to report the outcome of their work. By then all outcomes are recorded, and what is left may wait
	// forever, for example for a reader of the output.
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

// heed handles interrupts. The first and the second have a stage each. After the second, the command has
// endTime to end, and a third ends it immediately. If the reader of the output goes away, that is a first
// interrupt, which has its effect before the write returns, and never a second.
func (a *app) heed(say func(message string), first, second stage) (end func()) {
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, interruptSignals()...)
	if first.do != nil {
		first.do = sync.OnceFunc(first.do)
	}
	gone := make(chan struct{}, 2)
	for _, out := range []*display.Output{a.out, a.errs} {
		out.OnGone(func() {
			if first.do != nil {
				first.do()
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
				tell, another = a.remark, false
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
					stage{message: "Some steps could not be stopped: the next run reports what was interrupted."}.begin(a.remark)
					os.Exit(exitFailed)
				})
				defer forced.Stop()
				second.begin(tell)
			default:
				os.Exit(exitFailed)
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		for _, out := range []*display.Output{a.out, a.errs} {
			out.OnGone(func() {})
		}
		close(finished)
		<-over // it may be writing a message
	}
}

// begin writes the message and calls do.
func (s stage) begin(say func(message string)) {
	if s.message != "" && say != nil {
		said := make(chan struct{})
		go func() {
			say(s.message)
			close(said)
		}()
		select {
		case <-said:
		case <-time.After(sayTime):
		}
	}
	if s.do != nil {
		s.do()
	}
}

// watchInterrupts handles interrupts until end is called. The first closes stop: running steps finish, no
// others start. The second cancels the returned context.
func (a *app) watchInterrupts(parent context.Context, say func(message string)) (ctx context.Context, stop <-chan struct{}, end func()) {
	ctx, cancel := context.WithCancel(parent)
	stopped := make(chan struct{})
	unheed := a.heed(say,
		stage{"Stopping: waiting for running steps to finish. Press Ctrl-C again to stop now.", func() { close(stopped) }},
		stage{"Stopping now: the next run reports what was interrupted.", cancel})
	return ctx, stopped, func() {
		unheed()
		cancel()
	}
}

// onInterrupt returns a channel that the first interrupt closes.
func (a *app) onInterrupt() (stop <-chan struct{}, end func()) {
	stopped := make(chan struct{})
	return stopped, a.heed(nil, stage{do: func() { close(stopped) }}, stage{})
}

// keepOutput makes a write to a pipe without a reader fail, instead of ending the process: see
// [display.Output.OnGone].
func keepOutput() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
