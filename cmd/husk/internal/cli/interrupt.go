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

// stage is what an interrupt does to a command that goes on for a while.
type stage struct {
	// message tells the user of it; empty for nothing.
	message string
	do      func()
}

const (
	// endTime is how long a command may take to end after its second interrupt: guests have five
	// seconds to say what has become of their work. What is left then is waiting for something that
	// never comes, such as a reader of what is printed. All that was done is recorded by then.
	endTime = 8 * time.Second
	// sayTime is how long an interrupt waits until the user has been told of it, which may be as long
	// as nobody reads.
	sayTime = 100 * time.Millisecond
)

// interruptSignals are the signals of a user who wants to stop: Ctrl-C, a service manager, and a
// terminal that is closed, unless the command was started to outlive that.
func interruptSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// heed has the first interrupt do something, and the second something else; after that the command
// has some seconds to end, and a third ends it at once. Where nobody reads the output any more that
// is a first interrupt, which has its effect before anything else is done, and never a second.
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
		<-over // it may be telling the user
	}
}

// begin tells the user, and does what is to be done.
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

// interrupts turns the signals of a user who wants to stop into what the engine
// understands.
type interrupts struct {
	// stop is closed by the first: running steps finish, no others start.
	stop <-chan struct{}
	// end ends the watch.
	end func()
}

// watchInterrupts watches for interrupts. The first closes stop, the second cancels the context
// that is returned.
func (a *app) watchInterrupts(parent context.Context, say func(message string)) (context.Context, interrupts) {
	ctx, cancel := context.WithCancel(parent)
	stop := make(chan struct{})
	end := a.heed(say,
		stage{"Stopping: waiting for running steps to finish. Press Ctrl-C again to stop now.", func() { close(stop) }},
		stage{"Stopping now: the next run reports what was interrupted.", cancel})
	return ctx, interrupts{stop: stop, end: func() {
		end()
		cancel()
	}}
}

// onInterrupt returns what the first interrupt closes.
func (a *app) onInterrupt() (stop <-chan struct{}, end func()) {
	stopped := make(chan struct{})
	return stopped, a.heed(nil, stage{do: func() { close(stopped) }}, stage{})
}

// keepOutput has writing to a pipe that nobody reads fail, instead of ending the process: see
// [github.com/husk-dev/husk/internal/display.Output.OnGone].
func keepOutput() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
