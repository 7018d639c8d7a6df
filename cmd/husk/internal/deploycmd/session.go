package deploycmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/run/runtrace"
	"github.com/husk-dev/husk/internal/run/stackrun"
)

// session is one deployment command. Its preview and its execution have a display each.
type session struct {
	app   commands
	flags *deployFlags
	// watch receive each event beside the display.
	watch []func(engine.Event)
	// trace is nil for none.
	trace *runtrace.Recorder
	// found are the findings of the preview.
	found display.Plan

	// review has the preview, if a question follows it.
	review *display.Review
	// log receives each event beside the display, nil for none.
	log     display.Display
	logFile *os.File
	// changed is set if the preview or the execution has changes.
	changed bool

	// executes is set when something may be changed.
	executes atomic.Bool

	mu    sync.Mutex
	shown display.Display // nil between displays
}

// plan makes the display for a preview without a question. Programs do not get the events of such a preview if it succeeds,
// because they want to know the changes that were made.
func (s *session) plan() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.app.JSON {
		s.shown = display.NewJSONOfFailures(s.app.Out)
	}
}

// begin makes the display, unless there is one.
func (s *session) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown != nil {
		return
	}
	if s.app.JSON {
		s.shown = display.NewJSON(s.app.Out)
		return
	}
	s.shown = display.NewText(s.app.Shown(), s.app.Errs, display.Options{Diff: s.flags.diff, Timings: s.flags.timings, LogLevel: s.flags.logLevel, Plan: &s.found})
}

// end shows how it ended and returns the error, marked as shown.
func (s *session) end(err error) error {
	s.begin() // an error before the first event is shown in the same way
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.executes.Load() && isStopped(err) {
		err = display.StoppedBefore{}
	}
	s.shown.Close(err)
	s.shown = nil
	if err != nil {
		return cli.Shown(err)
	}
	return nil
}

// isStopped reports whether an error says only that an interrupt has ended the run.
func isStopped(err error) bool {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(list.Unwrap(), func(e error) bool { return !isStopped(e) })
	}
	return errors.Is(err, engine.ErrStopped)
}

// openLog opens the file that --log-file names. It gets events without secrets, as every output does.
func (s *session) openLog() (err error) {
	if s.flags.logFile == "" {
		return nil
	}
	if s.logFile, err = os.OpenFile(s.flags.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return fmt.Errorf("--log-file: %w", err)
	}
	s.log = display.NewJSON(display.NewOutput(s.logFile, s.app.Secrets))
	return nil
}

// closeLog writes how the command ended.
func (s *session) closeLog(err error) error {
	if s.log == nil {
		return nil
	}
	if errors.Is(err, cli.ErrChanges) {
		err = nil
	}
	s.log.Close(err)
	return s.logFile.Close()
}

// openTrace begins the trace that --trace asks for.
func (s *session) openTrace(command string) (err error) {
	if s.flags.trace == "" {
		return nil
	}
	if s.trace, err = runtrace.Open(s.flags.trace, command, os.Getenv, s.app.Secrets.In, stackrun.Version()); err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	s.watch = append(s.watch, s.trace.Event)
	return nil
}

// closeTrace ends the trace. Spans that do not reach their destination do not fail the command.
func (s *session) closeTrace(err error) {
	if errors.Is(err, cli.ErrChanges) {
		err = nil
	}
	if lost := s.trace.Close(err); lost != nil {
		s.app.Say("warning: the trace is not complete: %v", lost)
	}
}

// event shows an event. Events between displays belong to no deployment, and are dropped.
func (s *session) event(e engine.Event) {
	if s.review != nil {
		s.review.Event(e)
	}
	if s.log != nil {
		s.log.Event(e)
	}
	for _, watch := range s.watch {
		watch(e)
	}
	s.found.Event(e)
	if shown := s.current(); shown != nil {
		shown.Event(e)
	}
}

// step tells followers of the states of a step.
func (s *session) step(before, after *state.Resource) {
	for _, follower := range s.app.Followers() {
		follower.Step(before, after)
	}
}

func (s *session) current() display.Display {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown
}

// interrupted says that an interrupt was received.
func (s *session) interrupted(message string) {
	if message == cli.Stopping && !s.executes.Load() {
		message = "Stopping: nothing was changed. Press Ctrl-C again to stop now."
	}
	switch shown := s.current().(type) {
	case *display.Text:
		shown.Interrupt(message)
	case nil:
		s.app.Say("") // ends the line of a question
	default:
		s.app.Say("%s", message)
	}
}

// openRun is the subject of a deployment, until close.
type openRun struct {
	*stackrun.Run
	audit   *auditLog // nil for none
	learned string    // the file of learned grants, empty for none
}

// open opens project, stack, and providers for a command, which stop ends.
func (s *session) open(ctx context.Context, c command, stop <-chan struct{}) (_ *openRun, err error) {
	s.app.RemarkOnVariables()
	runsProgram := c.program || s.flags.runProgram
	if s.flags.install && !runsProgram {
		return nil, cli.Usagef("--install-dependencies requires --run-program")
	}
	w, err := s.app.Workspace(ctx)
	if err != nil {
		return nil, err
	}
	if requested := s.app.Setup.Requested; requested != nil {
		variables, err := w.OpenVariables(ctx, requested)
		if err == nil {
			err = named.Give(variables)
		}
		if err != nil {
			return nil, err
		}
	}
	if stackrun.NeedsPulumi(w.Project) || slices.ContainsFunc(s.flags.policyPacks, func(path string) bool {
		return program.IsPolicyProgram(projectroot.New(".", projectroot.Trusted), path)
	}) {
		if err := s.app.WithWhole("a program or plugin that speaks Pulumi's protocol"); err != nil {
			return nil, err
		}
		if s.flags.install {
			if err := s.install(ctx, w.Project, stop); err != nil {
				return nil, err
			}
		}
	}
	options := stackrun.Options{
		Command: c.name, Stack: s.app.Stack, Preview: c.previewOnly, Creates: c.program,
		Program: runsProgram, Replaces: c.replaces, Deletes: c.deletes,
		Parallel: s.flags.parallel, Events: s.event, Trusted: s.flags.trusted, Stop: stop,
	}
	if options.Plugins, err = s.app.PluginOptions(); err != nil {
		return nil, err
	}
	if options.Plugins.Grants, err = s.flags.grantsIn(w); err != nil {
		return nil, err
	}
	if s.app.Pulumi != nil {
		options.Message = s.app.Pulumi.Message
	}
	if s.app.Parts != nil {
		options.Pulumi = s.app.Parts.Pulumi
	}
	options.Plugins.Installed, options.Plugins.Withheld = s.flags.installed, s.flags.withheld()
	// Unlike the events of the engine, these may hold secrets.
	options.Plugins.Events = func(e engine.Event) { s.event(redact.Copy(s.app.Secrets, e)) }
	options.Plugins.Interpret, options.Plugins.Native = s.flags.interpret, s.flags.native
	options.Plugins.Learn = s.flags.learned != ""
	o := &openRun{learned: s.flags.learned}
	if s.flags.auditLog != "" {
		if o.audit, err = openAuditLog(s.flags.auditLog, s.app.Secrets); err != nil {
			return nil, err
		}
		options.Plugins.Audit = o.audit.write
	}
	if o.Run, err = stackrun.Open(ctx, w, options); err != nil {
		if o.audit != nil {
			err = errors.Join(err, o.audit.close())
		}
		return nil, err
	}
	o.Deployment.Providers = s.trace.Loader(o.Plugins)
	for _, follower := range s.app.Followers() {
		follower.Begin(o.Deployment.Config)
		o.Deployment.Steps = s.step
	}
	return o, nil
}

// install installs the packages of the project's program, until stop ends it.
func (s *session) install(ctx context.Context, project *program.Project, stop <-chan struct{}) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-stop:
			cancel(engine.ErrStopped)
		case <-ctx.Done():
		}
	}()
	s.event(engine.Diagnostic{Severity: "info", Message: "installing the packages of the program"})
	return s.app.Parts.Pulumi.Install(ctx, project)
}

// close saves the state and releases everything.
func (o *openRun) close(ctx context.Context) error {
	var err error
	if o.learned != "" {
		err = o.Plugins.WriteLearned(o.learned)
	}
	err = errors.Join(err, o.Close(ctx))
	if o.audit != nil {
		err = errors.Join(err, o.audit.close())
	}
	return err
}
