//go:build unix

package processgroup

import (
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// heeding counts who heeds signals in this process: see [Heed].
var heeding atomic.Int32

// Heed says that this process heeds signals that would end it, until end is called. Without, a signal ends it while a command
// runs, once that has ended: see [Run].
func Heed() (end func()) {
	heeding.Add(1)
	return func() { heeding.Add(-1) }
}

// Run runs a command, such as a compiler, in a group of its own, which ends as a whole: when the context of the command ends,
// and before a signal ends this process.
func Run(cmd *exec.Cmd) error {
	Own(cmd)
	cmd.Cancel = func() error {
		Kill(cmd.Process)
		return nil
	}
	signals := make(chan os.Signal, 1)
	ending := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		ending = append(ending, syscall.SIGHUP)
	}
	signal.Notify(signals, ending...) // before it starts: a signal in between would end this process alone
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		select {
		case is := <-signals:
			Kill(cmd.Process)
			if heeding.Load() == 0 {
				signal.Reset(is)
				_ = syscall.Kill(syscall.Getpid(), is.(syscall.Signal))
				select {} // it ends here
			}
		case <-ended:
		}
	}()
	err := cmd.Wait()
	close(ended)
	<-over
	return err
}
