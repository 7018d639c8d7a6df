//go:build unix

package processgroup

import (
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
)

// ending returns the signals that end this process.
func ending() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
	return slices.DeleteFunc(all, signal.Ignored)
}

func (s *Signals) run(cmd *exec.Cmd) error {
	Own(cmd)
	// A group that heeds signals now may have ended for this signal before it is seen here.
	heeded := s.heeding.Load() > 0
	arrived := make(chan os.Signal, 1)
	signal.Notify(arrived, ending()...) // before it starts: a signal in between would end this process alone
	defer func() {
		signal.Stop(arrived)
		select {
		case is := <-arrived: // at the end of the command
			s.end(is.(syscall.Signal), heeded)
		default:
		}
	}()
	if err := s.start(cmd); err != nil {
		return err
	}
	waited, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		select {
		case is := <-arrived:
			s.end(is.(syscall.Signal), heeded)
		case <-waited:
		}
	}()
	err := cmd.Wait()
	close(waited)
	<-over
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, cmd.Process)
	return err
}

func (s *Signals) start(cmd *exec.Cmd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	if s.running == nil {
		s.running = make(map[*os.Process]bool)
	}
	s.running[cmd.Process] = true
	return nil
}

// end ends all groups, and then this process as the signal does, unless somebody heeds it.
func (s *Signals) end(is syscall.Signal, heeded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for process := range s.running {
		Kill(process)
	}
	if (heeded || s.heeding.Load() > 0) && is != syscall.SIGQUIT { // which nobody heeds
		return
	}
	signal.Reset(is)
	_ = syscall.Kill(syscall.Getpid(), is)
	select {} // it ends here
}
