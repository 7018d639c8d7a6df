// Package nativeprovider runs a provider as a native process, for husk provider dev --native. There is no sandbox: the process has
// the rights of the user.
package nativeprovider

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/processgroup"
	"github.com/husk-dev/husk/internal/build/nativewire"
)

// Process is a provider that runs, or has run.
type Process struct {
	*nativewire.Client
	// PID is its process id.
	PID int

	program [sha256.Size]byte
	stdin   io.Closer
	ended   chan struct{}
	cmd     *exec.Cmd
}

// Runner builds a provider for this machine, and runs it. It is not safe for concurrent use.
type Runner struct {
	// Dir is the directory of the provider's Go source.
	Dir string
	// Output gets the output of the process.
	Output io.Writer

	built   string // the directory of the program
	running *Process
}

// Run builds the provider. If the running process already has that program, it goes on, with the debugger attached to it.
// Otherwise a new one takes its place; started reports that.
func (r *Runner) Run(ctx context.Context) (p *Process, started bool, err error) {
	if r.built == "" {
		if r.built, err = os.MkdirTemp("", "husk-native-"); err != nil {
			return nil, false, err
		}
	}
	program := filepath.Join(r.built, "provider")
	if suffixed {
		program += ".exe"
	}
	if err := r.build(ctx, program+".new"); err != nil {
		return nil, false, err
	}
	sum, err := sumOf(program + ".new")
	if err != nil {
		return nil, false, err
	}
	if r.running != nil && r.running.program == sum && !r.running.hasEnded() {
		return r.running, false, nil
	}
	r.stop()
	if err := os.Rename(program+".new", program); err != nil {
		return nil, false, err
	}
	if r.running, err = start(program, r.Dir, r.Output); err != nil {
		return nil, false, err
	}
	r.running.program = sum
	return r.running, true, nil
}

// Close ends the process, and removes its program.
func (r *Runner) Close() error {
	r.stop()
	if r.built == "" {
		return nil
	}
	return os.RemoveAll(r.built)
}

func (r *Runner) stop() {
	if r.running != nil {
		r.running.stop()
		r.running = nil
	}
}

// build builds a program that a debugger can follow: the packages of the provider's own module are not optimized.
func (r *Runner) build(ctx context.Context, program string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-gcflags=./...=-N -l", "-o", program, ".")
	cmd.Dir, cmd.Env = r.Dir, named.Environment()
	cmd.WaitDelay = waitDelay
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	err := processgroup.Run(ctx, cmd)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &exit):
		return fmt.Errorf("cannot build the module in %s for this machine:\n%s", r.Dir, strings.TrimSpace(text.String()))
	default:
		return fmt.Errorf("--native builds the provider with the go command: %w", err)
	}
}

// waitDelay is how long a process may go on after it was told to end, before it is killed.
const waitDelay = 2 * time.Second

func start(program, dir string, output io.Writer) (*Process, error) {
	p := &Process{ended: make(chan struct{})}
	p.cmd = exec.Command(program)
	p.cmd.Dir, p.cmd.Stderr = dir, output
	p.cmd.Env = append(named.ProgramEnvironment(), nativewire.Variable+"=1")
	p.cmd.WaitDelay = waitDelay
	ignoreTerminal(p.cmd)
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// The pipe is not the command's own, which would be closed when the process ends, before all is read.
	answers, stdout, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout = stdout
	err = p.cmd.Start()
	stdout.Close()
	if err != nil {
		answers.Close()
		return nil, fmt.Errorf("starting the provider: %w", err)
	}
	p.PID, p.stdin = p.cmd.Process.Pid, stdin
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = p.cmd.Wait() // what it printed says how it ended
	}()
	p.Client = nativewire.NewClient(lastWords{answers, exited}, stdin)
	go func() {
		defer close(p.ended)
		<-p.Client.Ended()
		answers.Close()
		<-exited
	}()
	return p, nil
}

// lastWords are the answers of a process. Their end waits for the output of the process, which must be read before the error that
// refers to it.
type lastWords struct {
	answers io.Reader
	exited  <-chan struct{}
}

func (l lastWords) Read(b []byte) (int, error) {
	n, err := l.answers.Read(b)
	if err != nil {
		select {
		case <-l.exited:
		case <-time.After(waitDelay): // it goes on without its output
		}
	}
	return n, err
}

func (p *Process) hasEnded() bool {
	select {
	case <-p.Client.Ended():
		return true
	default:
		return false
	}
}

// stop closes the input of the process, on which it ends, and kills it if it does not: a debugger may have stopped it.
func (p *Process) stop() {
	p.stdin.Close()
	timer := time.AfterFunc(waitDelay, func() { _ = p.cmd.Process.Kill() }) // it may have ended
	defer timer.Stop()
	<-p.ended
}

func sumOf(program string) (sum [sha256.Size]byte, err error) {
	f, err := os.Open(program)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, f)
	return [sha256.Size]byte(hash.Sum(nil)), err
}
