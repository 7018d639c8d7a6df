package pulumiprogram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"github.com/husk-dev/husk/internal/base/processgroup"
)

// process is a program that runs.
type process struct {
	cmd *exec.Cmd // nil for a program that another process runs
	// leave ends the call to that process.
	leave   context.CancelFunc
	cleanUp func()
	ended   chan struct{}
	errs    *lines

	mu     sync.Mutex
	killed bool
	err    error // of its end
	// hosted is how the program of a language host has ended, nil as long as it has not.
	hosted *string
}

// waitDelay is how long the output of a program is read after its end: processes that it has left behind
// may hold it open.
const waitDelay = 2 * time.Second

// start starts a program, and has each line that it prints be shown.
func start(cmd command, show func(line string)) (*process, error) {
	p := &process{cmd: cmd.Cmd, ended: make(chan struct{}), errs: &lines{show: show, keeps: true}}
	out := &lines{show: show}
	if cmd.drive != nil {
		var begin sync.Once
		out.show = func(line string) {
			isFirst := false
			begin.Do(func() {
				isFirst = true
				go func() { p.endHost(cmd.drive(context.Background(), line)) }()
			})
			if !isFirst {
				show(line)
			}
		}
	}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, p.errs, waitDelay
	processgroup.Own(cmd.Cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		err := cmd.Wait()
		out.end()
		p.errs.end()
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		close(p.ended)
	}()
	return p, nil
}

// join has another process run a program.
func join(drive func(ctx context.Context, line string) (how string, err error)) *process {
	ctx, leave := context.WithCancel(context.Background())
	p := &process{leave: leave, ended: make(chan struct{}), errs: &lines{}}
	go func() {
		defer leave()
		how, err := drive(ctx, "")
		p.mu.Lock()
		defer p.mu.Unlock()
		if err != nil {
			how = fmt.Sprintf("could not be run: %v", err)
		}
		if !p.killed {
			p.hosted = &how
		}
		close(p.ended)
	}()
	return p
}

// interrupt asks the program to end, as Ctrl-C does.
func (p *process) interrupt() {
	if p.cmd != nil && !isClosed(p.ended) { // another process has got the user's interrupt itself
		processgroup.Interrupt(p.cmd.Process)
	}
}

// kill ends the program and its children.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if isClosed(p.ended) {
		return
	}
	p.killed = true
	if p.cmd == nil {
		p.leave()
	} else {
		processgroup.Kill(p.cmd.Process)
	}
}

// endHost ends a language host when the program has ended, or the connection to the host has. How a host
// that ends by itself has ended says more than the error of its connection.
func (p *process) endHost(how string, err error) {
	if err != nil {
		how = fmt.Sprintf("could not be run: %v", err)
		timer := time.NewTimer(2 * waitDelay)
		defer timer.Stop()
		select {
		case <-p.ended:
		case <-timer.C:
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !isClosed(p.ended) && !p.killed {
		p.hosted = &how
		processgroup.Kill(p.cmd.Process)
	}
}

func (p *process) wasKilled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed
}

// how returns how a program has ended, empty if that says nothing.
func (p *process) how() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	exit, failed := errors.AsType[*exec.ExitError](p.err)
	switch {
	case p.hosted != nil:
		return *p.hosted
	case p.killed:
		return fmt.Sprintf("did not end within %s, and was killed", graceTime)
	case failed && exit.ExitCode() >= 0:
		return fmt.Sprintf("exited with code %d", exit.ExitCode())
	case failed:
		return "was ended by a signal: " + exit.ProcessState.String()
	}
	return ""
}

// tail returns the end of the program's standard error.
func (p *process) tail() string { return string(bytes.TrimSpace(p.errs.kept)) }

// lines shows its input line by line.
type lines struct {
	show func(line string)
	// keeps has kept hold the end of the input.
	keeps bool
	kept  []byte
	rest  []byte // of a line
}

const (
	// lineSize is the longest line that is shown as one, in bytes.
	lineSize = 64 << 10
	// keptSize is how much is kept, in bytes.
	keptSize = 4 << 10
)

func (l *lines) Write(b []byte) (int, error) {
	if l.keeps {
		l.kept = append(l.kept, b...)
		if over := len(l.kept) - keptSize; over > 0 {
			l.kept = l.kept[over:]
			if i := bytes.IndexByte(l.kept, '\n'); i >= 0 {
				l.kept = l.kept[i+1:]
			}
		}
	}
	l.rest = append(l.rest, b...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		switch {
		case i >= 0:
			l.show(string(l.rest[:i]))
			l.rest = l.rest[i+1:]
		case len(l.rest) >= lineSize:
			l.end()
		default:
			return len(b), nil
		}
	}
}

func (l *lines) end() {
	if len(l.rest) > 0 {
		l.show(string(l.rest))
		l.rest = nil
	}
}
