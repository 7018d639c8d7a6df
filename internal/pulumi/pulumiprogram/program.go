// Package pulumiprogram runs programs of Pulumi's SDKs as they are: programs for Node.js, Python, and Go by itself, programs for
// other runtimes with an installed language host of Pulumi. It starts the program as a process, and serves it the gRPC services
// of Pulumi's engine, in front of the engine's own monitor. The process has the rights of the user: it is not sandboxed, unlike
// the providers.
package pulumiprogram

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/program"
)

// Options are the settings of a program beside its project.
type Options struct {
	// Report receives what the program prints and logs, also from several goroutines at once. It may hold
	// secrets.
	Report func(engine.Diagnostic)
	// Stop returns a channel that is closed when the deployment is to end; nil is for a deployment that is
	// not stopped.
	Stop func() <-chan struct{}
	// Grace is how long a program may take to end by itself once there is nothing more to do: a failed step has ended the
	// deployment, the user has stopped it, or all is done. Then it is killed. Its functions may take as long to return once
	// the deployment is to end. It is ten seconds if it is zero.
	Grace time.Duration
	// Client is the address of a process of this machine that runs the program, in place of one that is started. It serves
	// what a language host does.
	Client string
}

// Program is a program of a project with a runtime that [Find] finds. It can be run any number of times,
// one after the other.
type Program struct {
	project *program.Project
	options Options

	// running is the session of the last run, until it is finished.
	running *session
}

// New returns the program of a project.
func New(project *program.Project, options Options) *Program {
	if options.Grace == 0 {
		options.Grace = graceTime
	}
	return &Program{project: project, options: options}
}

// graceTime is [Options.Grace] by default.
const graceTime = 10 * time.Second

// session is one run of a program.
type session struct {
	*monitor
	service *service
	process *process
	stop    <-chan struct{}
	grace   time.Duration
}

// Run starts the program, and returns when it has registered all of its resources, or has ended. One that
// has functions for later stays until [Program.Finish].
func (p *Program) Run(ctx context.Context, run abi.RunContext, m abi.Monitor) (err error) {
	engineMonitor, ok := m.(callback.Monitor)
	if !ok {
		return fmt.Errorf("run the program: the monitor %T takes no callbacks", m)
	}
	if run.Config, err = p.project.DeclaredConfig(run); err != nil {
		return err
	}
	s := &session{grace: p.options.Grace, monitor: &monitor{
		run: run, engine: engineMonitor, report: p.options.Report, version: p.project.WantedVersion,
		node:      p.project.Runtime == "nodejs",
		functions: newCallbacks(), released: make(chan struct{}), done: make(chan struct{}), broken: make(chan struct{}),
	}}
	if p.options.Stop != nil {
		s.stop = p.options.Stop()
	}
	launch, cleanUp, err := p.command(ctx, run)
	if err != nil {
		return err
	}
	if s.service, err = listen(ctx, s.operations(), s.notices(), dialsSockets(p.project.Runtime)); err != nil {
		cleanUp()
		return err
	}
	cmd := launch(s.service.address)
	if cmd.Cmd == nil {
		s.process = join(cmd.drive)
	} else {
		s.process, err = start(cmd, s.printed)
	}
	if err != nil {
		s.service.stop()
		cleanUp()
		return fmt.Errorf("starting the program with %s: %w", cmd.Path, err)
	}
	s.process.cleanUp = cleanUp
	p.running = s
	if s.wait(ctx) {
		go s.passOn()
		s.service.drain()
		return nil
	}
	s.service.drain()
	return errors.Join(s.outcome(ctx), p.Finish(ctx))
}

// wait returns when the program has registered all, or has ended. registered reports the former.
func (s *session) wait(ctx context.Context) (registered bool) {
	select {
	case <-s.done:
		return true
	case <-s.process.ended:
		return false
	case <-s.broken:
		// A step has failed, and the SDK ends the program.
	case <-s.stop:
		s.process.interrupt()
	case <-ctx.Done():
		s.process.kill()
		<-s.process.ended
		return false
	}
	s.awaitEnd(ctx)
	return false
}

// passOn passes an interrupt on to a program that has registered all, and stays for its functions. Those that go on
// after it hold up their steps for the grace time at most.
func (s *session) passOn() {
	select {
	case <-s.released:
		return
	case <-s.process.ended:
		return
	case <-s.stop:
		s.process.interrupt()
	}
	timer := time.NewTimer(s.grace)
	defer timer.Stop()
	select {
	case <-s.released:
	case <-timer.C:
		s.functions.giveUp(s.grace)
	}
}

// awaitEnd waits for the end of the program once its operations have ended, and kills it if that takes long.
// Operations that wait for functions of the program do so for the grace time at most.
func (s *session) awaitEnd(ctx context.Context) {
	patience := time.AfterFunc(s.grace, func() { s.functions.giveUp(s.grace) })
	defer patience.Stop()
	drained := make(chan struct{})
	go func() {
		s.service.drain()
		close(drained)
	}()
	select {
	case <-s.process.ended:
		return
	case <-drained:
	case <-ctx.Done():
	}
	timer := time.NewTimer(s.grace)
	defer timer.Stop()
	select {
	case <-s.process.ended:
		return
	case <-ctx.Done():
	case <-timer.C:
	}
	s.process.kill()
	<-s.process.ended
}

// outcome returns why a program that has ended did not register all, nil if it did.
func (s *session) outcome(ctx context.Context) error {
	s.mu.Lock()
	failed, complete, reported, stack := s.failed, s.complete, s.errors, s.stack
	s.mu.Unlock()
	how := s.process.how()
	switch {
	case isClosed(s.stop):
		return abi.NewError(abi.ErrorKindCancelled, "the program was stopped")
	case ctx.Err() != nil:
		return ctx.Err()
	case failed != nil:
		return failed
	case how == "" && complete && reported == 0:
		return nil
	case reported > 0:
		return &EndError{Errors: reported, How: how}
	case how == "" && stack == "":
		return &EndError{How: "ended without having registered anything", Output: s.process.tail()}
	case how == "":
		return &EndError{How: "ended before it was through: something in it calls for the exit of the process, or it waits for what never comes", Output: s.process.tail()}
	}
	return &EndError{How: how, Output: s.process.tail()}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// EndError says that a program ended without having registered all of its resources, so that nothing was
// deleted for its sake.
type EndError struct {
	// Errors counts the errors that the program has reported before.
	Errors int
	// How is how it ended, such as "exited with code 1"; empty if that says nothing.
	How string
	// Output is the end of the program's standard error, which has been reported.
	Output string
}

func (e *EndError) Error() string {
	var text string
	switch {
	case e.Errors == 1:
		text = "the program failed with the error above"
	case e.Errors > 1:
		text = fmt.Sprintf("the program failed with the %d errors above", e.Errors)
	default:
		text = "the program " + e.How
	}
	if e.Output != "" && e.Errors == 0 {
		text += ", after the output above"
	}
	return text
}

// Finish ends a program whose functions are no longer needed. Run must have returned.
func (p *Program) Finish(ctx context.Context) error {
	s := p.running
	if s == nil {
		return nil
	}
	p.running = nil
	close(s.released)
	wasRegistered := isClosed(s.done)
	if wasRegistered {
		s.awaitEnd(ctx)
	}
	s.service.stop()
	s.functions.close()
	s.process.cleanUp()
	if how := s.process.how(); wasRegistered && how != "" && !s.process.wasKilled() && !isClosed(s.stop) {
		return &EndError{How: how + " after all of its resources were registered", Output: s.process.tail()}
	}
	return nil
}

// style matches the escapes that color text in terminals. The SDK for Node.js has colors in errors, wherever they are printed.
var style = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// printed reports a line of the program's output.
func (m *monitor) printed(line string) {
	if line = style.ReplaceAllString(strings.TrimRight(line, "\r\n"), ""); line != "" {
		m.report(engine.Diagnostic{Severity: "info", Message: line})
	}
}
