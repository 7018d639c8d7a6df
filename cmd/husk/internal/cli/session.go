package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/contents"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/program/yamlprogram"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/workspace"
)

// session is one deployment command: it shows what goes on in one display after
// the other, since a preview and what follows it have one each.
type session struct {
	app   *app
	flags *deployFlags

	mu    sync.Mutex
	shown display.Display // nil between displays
}

// plan makes the display for a preview whose outcome nobody is asked about. Events are for programs,
// which want to know what was done: those of a plan that succeeds are not among them.
func (s *session) plan() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.app.json {
		s.shown = display.NewJSONOfFailures(s.app.out)
	}
}

// begin makes the display for what follows.
func (s *session) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown != nil {
		return
	}
	if s.app.json {
		s.shown = display.NewJSON(s.app.out)
		return
	}
	s.shown = display.NewText(s.app.out, display.Options{
		Diff: s.flags.diff, Timings: s.flags.timings, Errors: s.app.errs, ErrorsStyle: s.app.errs.Style(), Secrets: s.app.secrets,
	})
}

// end shows how it ended and returns the error, marked as shown.
func (s *session) end(err error) error {
	s.begin() // an error before the first event is shown in the same way
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown.Close(err)
	s.shown = nil
	if err != nil {
		return &shownError{err}
	}
	return nil
}

// event shows an event. Those that come between displays are of no deployment.
func (s *session) event(e engine.Event) {
	s.mu.Lock()
	shown := s.shown
	s.mu.Unlock()
	if shown != nil {
		shown.Event(e)
	}
}

// diagnostic shows a message that is not one of the engine's events, which tell no secrets.
func (s *session) diagnostic(d engine.Diagnostic) { s.event(redact.Copy(s.app.secrets, d)) }

// interrupted tells the user that an interrupt was heard.
func (s *session) interrupted(message string) {
	s.mu.Lock()
	shown := s.shown
	s.mu.Unlock()
	switch shown := shown.(type) {
	case *display.Text:
		shown.Interrupt(message)
	case nil:
		s.app.say("") // while a question waits for its answer, which ends it
	default:
		s.app.say("%s", message)
	}
}

// opened is what a deployment works on. Close releases it.
type opened struct {
	workspace  *workspace.Workspace
	deployment engine.Deployment
	program    engine.Program // nil for operations that do without
	plugins    *plugins.Plugins
	audit      *auditLog // nil for none
}

// open opens project, stack, and providers, in a way that fits the command.
func (s *session) open(ctx context.Context, c command) (_ *opened, err error) {
	w, err := s.app.workspace(ctx)
	if err != nil {
		return nil, err
	}
	runs := c.program || s.flags.runProgram
	grants, err := s.flags.grantsIn(w)
	if err != nil {
		return nil, err
	}
	options, err := s.app.pluginOptions()
	if err != nil {
		return nil, err
	}
	if w.Detached != nil {
		if runs {
			return nil, w.Detached
		}
		s.diagnostic(engine.Diagnostic{Severity: "info", Message: fmt.Sprintf(
			"no project file here: using the state in %s; providers may do only what --grant allows", w.Place)})
	}
	for _, warning := range w.Project.Warnings {
		s.diagnostic(engine.Diagnostic{Severity: "warning", Message: warning.Error()})
	}
	if runs {
		if err := checkRuntime(w.Project); err != nil {
			return nil, err
		}
	}
	withheld := s.flags.withheld(w)
	stack, err := w.Stack(s.app.stack)
	if err != nil {
		return nil, err
	}
	config, err := w.Config(stack)
	if err != nil {
		return nil, err
	}
	var st *state.Stack
	switch {
	case c.previewOnly:
		st, err = w.Copy(ctx, stack)
	case c.program:
		st, err = w.Lease(ctx, stack, c.name)
	default:
		st, err = w.LeaseExisting(ctx, stack, c.name)
	}
	if err != nil {
		return nil, err
	}
	o := &opened{workspace: w, deployment: engine.Deployment{
		Project: w.Project.Name, Stack: stack, Organization: state.Organization,
		State: st, Stacks: w.References(), Parallel: s.flags.parallel, Events: s.event, Secrets: s.app.secrets, Version: thisBuild().Version,
		Contents: programContents(w.Project, withheld),
	}}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.close(ctx))
		}
	}()
	if c.replaces {
		if err := checkHasResources(w.Project, st); err != nil {
			return nil, err
		}
	}
	s.reportRecovery(st.Recovery())
	// The state comes first: where the default stack was just made, its key can
	// now open the configuration.
	if o.deployment.Config, err = config.Entries(ctx); err != nil {
		return nil, err
	}
	if s.flags.auditLog != "" {
		if o.audit, err = openAuditLog(s.flags.auditLog, s.app.secrets); err != nil {
			return nil, err
		}
		options.Audit = o.audit.write
	}
	if options.Trust, err = plugins.OpenTrust(w.Project, s.flags.trusted); err != nil {
		return nil, err
	}
	options.Instances, options.Installed, options.Grants, options.Withheld = s.flags.parallel, s.flags.installed, grants, withheld
	options.Diagnostics, options.Preparing = s.diagnostic, func(e engine.Preparing) { s.event(e) }
	options.Modules, options.Stores, options.Config = w.ModulesDir(), w.StoresDir(stack), o.deployment.Config
	options.Effects = !c.previewOnly && (c.deletes || c.program && st.Len() == 0)
	if o.plugins, err = plugins.Open(ctx, w.Project, options); err != nil {
		return nil, err
	}
	o.deployment.Providers = o.plugins
	if runs {
		o.program = yamlprogram.New(w.Project, o.plugins)
	}
	return o, nil
}

// checkHasResources refuses a program that says nothing of resources while the stack has some: all
// of them would be deleted, which somebody who means it writes down.
func checkHasResources(p *program.Project, st *state.Stack) error {
	if p.Template.Resources != nil && !source.IsNull(p.Template.Resources) {
		return nil
	}
	n := workspace.CountResources(st.Snapshot())
	if n == 0 {
		return nil
	}
	d := p.Template.File.Errorf(source.Of(p.Template.Resources), "the program has no resources, and the stack has %d, which would all be deleted", n)
	d.Detail = "to delete them, write \"resources: {}\", or run husk destroy"
	return source.Diagnostics{d}
}

// programContents is where the assets of a project's program are, and what computed paths do not read of
// it: the project's own files, those that are withheld from providers, and its history.
func programContents(p *program.Project, withheld []string) contents.Source {
	source := contents.Source{
		Dir: p.ProgramDir, Within: p.Dir, Fetch: contents.HTTP(http.ProxyFromEnvironment),
		Withheld: slices.Concat(p.OwnFiles(), withheld, []string{filepath.Join(p.Dir, ".git")}),
	}
	if below, err := filepath.Rel(p.Dir, p.ProgramDir); err != nil || !filepath.IsLocal(below) {
		source.Within = p.ProgramDir
	}
	return source
}

func checkRuntime(p *program.Project) error {
	if p.Runtime == program.RuntimeYAML {
		return nil
	}
	d := p.File.Errorf(source.Position{}, "the runtime %q is not supported", p.Runtime)
	d.Detail = "husk runs programs of the runtime yaml, with resources in the project file"
	return source.Diagnostics{d}
}

// reportRecovery tells what an earlier run left behind.
func (s *session) reportRecovery(r state.Recovery) {
	if r.Records > 0 {
		s.diagnostic(engine.Diagnostic{Severity: "warning",
			Message: fmt.Sprintf("an earlier run was interrupted: recovered the %s that it had recorded", plural(r.Records, "change"))})
	}
	if d := r.Dropped; d != nil {
		s.diagnostic(engine.Diagnostic{Severity: "warning", Message: fmt.Sprintf(
			"an earlier run was interrupted while it wrote to %s: dropped an incomplete record of %d bytes at the end (%s)", d.File, d.Size, d.Reason)})
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// close saves the state and releases everything. It goes on where the context was
// cancelled, since what was done must be saved.
func (o *opened) close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	err := o.deployment.State.Close(ctx)
	if o.plugins != nil {
		err = errors.Join(err, o.plugins.Close(ctx))
	}
	if o.audit != nil {
		err = errors.Join(err, o.audit.close())
	}
	return err
}

// workspace opens the project that the flags name.
func (a *app) workspace(ctx context.Context) (*workspace.Workspace, error) {
	return workspace.Open(ctx, a.dir, workspace.Options{
		Stack:   a.stack,
		Remark:  a.remark,
		Store:   a.store,
		Secrets: a.secrets,
	})
}
