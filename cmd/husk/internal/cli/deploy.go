package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/blocking"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
)

// deployFlags are those of the commands that run the engine.
type deployFlags struct {
	deployOptions
	yes, diff, timings, refresh, installed, previewOnly bool
	parallel                                            int
	grants, trusted                                     []string
	policies                                            policyFlags
	skipPreview                                         bool
	// refreshes reports whether everything is read first; nil for commands that cannot.
	refreshes func(*program.Project) bool
	auditLog  string
}

// makeOperation makes an operation of the flags, the project, and its providers.
type makeOperation = func(context.Context, *opened) (engine.Operation, error)

// makeUp makes an update.
type makeUp = func(context.Context, *opened) (engine.Up, error)

// command is a command that runs the engine.
type command struct {
	name string
	// previewOnly is set where nothing is carried out.
	previewOnly bool
	// operation makes what is done, once project and providers are open.
	operation makeOperation
	// result, if set, receives what a preview or operation has come to.
	result func(context.Context, *opened, *engine.Result) error
	// program is set where the project's program is run.
	program bool
	// replaces is set where what the program lacks is deleted.
	replaces bool
	// deletes is set where resources are deleted whatever the program says.
	deletes bool
	// question asks for leave to go ahead.
	question string
}

func (a *app) up() *cobra.Command {
	f, p := &deployFlags{}, &planFile{}
	c := command{name: "up", operation: p.keeping(f.up), program: true, replaces: true, question: "Make these changes?"}
	cmd := a.deployment(c, f, "Create, update, and delete resources to match the program")
	f.addRefresh(cmd)
	f.addUpdate(cmd)
	f.policies.add(cmd)
	p.addUse(cmd)
	return cmd
}

func (a *app) preview() *cobra.Command {
	f, l, p := &deployFlags{}, &listing{}, &planFile{}
	c := command{name: "preview", previewOnly: true, operation: p.drafting(l.listening(f.up)), result: p.save, program: true, replaces: true}
	cmd := a.deployment(c, f, "Show what an update would do, without changing anything")
	f.addRefresh(cmd)
	f.addUpdate(cmd)
	f.policies.add(cmd)
	l.addTo(cmd, a)
	p.addSave(cmd, a)
	return cmd
}

func (a *app) refresh() *cobra.Command {
	f := &deployFlags{}
	c := command{name: "refresh", operation: f.refreshing, question: "Record these changes?"}
	cmd := a.deployment(c, f, "Read every resource and record its actual state")
	f.addPreviewOnly(cmd)
	f.addPending(cmd)
	f.addRunProgram(cmd)
	f.addInstalled(cmd)
	return cmd
}

func (a *app) destroy() *cobra.Command {
	f := &deployFlags{}
	c := command{name: "destroy", operation: f.destroying, deletes: true, question: "Delete these resources?"}
	cmd := a.deployment(c, f, "Delete every resource of the stack")
	f.addRefresh(cmd)
	f.addPreviewOnly(cmd)
	f.addExcludeProtected(cmd)
	f.addFailures(cmd)
	f.addRunProgram(cmd)
	f.addInstalled(cmd)
	return cmd
}

func (f *deployFlags) addRefresh(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.refresh, "refresh", false, "refresh every resource first (--refresh=false overrides the project)")
	f.refreshes = func(p *program.Project) bool { return f.refresh || p.Refresh && !cmd.Flags().Changed("refresh") }
}

func (f *deployFlags) addPreviewOnly(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.previewOnly, "preview-only", false, "show what would be done, without changing anything")
}

// addYes adds the flags of commands that show what they would do, and ask for leave to do it.
func (f *deployFlags) addYes(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "proceed without confirmation, unless the preview fails")
	cmd.Flags().BoolVar(&f.skipPreview, "skip-preview", false, "with --yes, deploy without a preview: problems are found on the way")
}

// addShown adds the flags of all that runs the engine.
func (f *deployFlags) addShown(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.auditLog, "audit-log", "", "append each use and each refused use of a capability to this file, as JSON lines")
	cmd.Flags().StringArrayVar(&f.trusted, "trust-module", nil,
		"trust the module with this digest: the state names it, but the project has never listed it; can be repeated")
	cmd.Flags().BoolVar(&f.diff, "diff", false, "show what differs in each resource")
	cmd.Flags().BoolVar(&f.timings, "timings", false, "show the cost of provider calls and the slowest steps")
	cmd.Flags().IntVarP(&f.parallel, "parallel", "p", 0, "maximum number of resources to deploy at once (default: 4 per processor)")
}

func (f *deployFlags) addInstalled(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.installed, "installed", false,
		"use the providers that the project lists, instead of the modules that made the resources")
	cmd.Flags().StringArrayVar(&f.grants, "grant", nil,
		"grant a provider more than the project does: "+grant.Flags("PROVIDER:")+"; can be repeated")
}

func (a *app) deployment(c command, f *deployFlags, short string) *cobra.Command {
	cmd := &cobra.Command{
		Use: c.name, Short: short, Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.previewOnly = c.previewOnly || f.previewOnly
			return a.deploy(cmd.Context(), c, f)
		},
	}
	if !c.previewOnly {
		f.addYes(cmd)
	}
	f.addSelection(cmd)
	f.addShown(cmd)
	a.addLimits(cmd.Flags())
	return cmd
}

func (a *app) deploy(ctx context.Context, c command, f *deployFlags) error {
	s := &session{app: a, flags: f}
	s.begin()
	if err := a.checkDeploy(c, f); err != nil {
		return s.end(err)
	}
	ctx, interrupts := a.watchInterrupts(ctx, s.interrupted)
	defer interrupts.end()
	// What is opened may be pipes, or locks of others.
	o, err := blocking.Call(ctx, func() (*opened, error) { return s.open(ctx, c) }, func(o *opened) { _ = o.close(ctx) })
	if err != nil {
		return s.end(err)
	}
	o.Deployment.Stop = interrupts.stop
	if err := s.confirmModules(ctx, c, o, interrupts.stop); err != nil {
		return s.end(errors.Join(err, o.close(ctx)))
	}
	operation, err := c.operation(ctx, o)
	if err != nil {
		return s.end(errors.Join(err, o.close(ctx)))
	}
	// All of it is planned before any of it is done: what is refused, such as the deletion of a
	// protected resource, then stops the run while everything is as it was.
	if c.previewOnly || !f.skipPreview {
		if !c.previewOnly && f.yes {
			s.plan()
		}
		result, err := engine.Preview(ctx, o.Deployment, operation)
		if err == nil {
			err = c.finish(ctx, o)(result)
		}
		if c.previewOnly || err != nil {
			return s.end(errors.Join(err, o.close(ctx)))
		}
		_ = s.end(nil) // shows the preview, which went well
		if !f.yes && result.Changes.Total() > 0 {
			if err := a.ask(c.question, interrupts.stop); err != nil {
				return errors.Join(err, o.close(ctx))
			}
		} else if !a.json {
			if err := a.printf("\n"); err != nil {
				return errors.Join(err, o.close(ctx))
			}
		}
		s.begin()
	}
	_, err = o.Execute(ctx, operation, c.finish(ctx, o))
	return s.end(errors.Join(err, o.close(ctx)))
}

// finish is what is done with the result of a preview or operation that succeeded.
func (c command) finish(ctx context.Context, o *opened) func(*engine.Result) error {
	return func(result *engine.Result) error {
		if c.result == nil {
			return nil
		}
		return c.result(ctx, o, result)
	}
}

// confirmModules asks about the modules that a refresh or destruction would run because the state
// names them, and that the project has never listed. Where there is nobody to ask they are refused;
// those of a part of the resources, when they are needed.
func (s *session) confirmModules(ctx context.Context, c command, o *opened, stop <-chan struct{}) error {
	if c.program {
		return nil
	}
	var named []plugins.RecordedModule
	for _, r := range o.Deployment.State.Snapshot().Resources() {
		if r.IsProvider() {
			if spec, err := engine.SpecOf(r); err == nil { // the engine tells what is wrong with it
				named = append(named, plugins.RecordedModule{Digest: spec.Digest, Provider: spec.Name})
			}
		}
	}
	untrusted, err := o.Plugins.Untrusted(ctx, named)
	if err != nil || untrusted == nil {
		return err
	}
	a := s.app
	if s.flags.yes || !a.isInteractive() {
		if len(s.flags.targets)+len(s.flags.excludes) > 0 {
			return nil
		}
		return untrusted
	}
	_ = s.end(nil) // a question has no live lines around it
	defer s.begin()
	names := untrusted.Names()
	a.remark(strings.ToUpper(names[:1]) + names[1:] + ".")
	for _, m := range untrusted.Modules {
		question := "Run " + m.Digest + " with what is granted to " + m.Provider + ", and with the secrets of its resources?"
		if err := a.ask(question, stop); err != nil {
			return err
		}
		if err := o.Plugins.Confirm(m); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) checkDeploy(c command, f *deployFlags) error {
	if err := f.parse(); err != nil {
		return err
	}
	if f.parallel < 0 {
		return usagef("--parallel %d: must be at least 1", f.parallel)
	}
	if f.skipPreview && (c.previewOnly || !f.yes) {
		return usagef("--skip-preview requires --yes")
	}
	for _, digest := range f.trusted {
		if err := plugins.CheckDigest(digest); err != nil {
			return usagef("--trust-module %s: %w", digest, err)
		}
	}
	if c.previewOnly || f.yes {
		return nil
	}
	instead := "husk preview shows what would be done"
	if !c.program {
		instead = "on a terminal it previews and asks for confirmation"
	}
	if a.json {
		return usagef("husk %s --json cannot ask for confirmation: add --yes (%s)", c.name, instead)
	}
	if !a.isInteractive() {
		return usagef("husk %s needs a terminal to ask for confirmation: add --yes (%s)", c.name, instead)
	}
	return nil
}

// errDeclined says that the user did not want to go on.
var errDeclined = errors.New("not confirmed: nothing was changed")

// isInteractive reports whether a person can answer a question.
func (a *app) isInteractive() bool {
	return !a.json && display.IsTerminal(a.in) && a.out.IsTerminal()
}

// ask asks a question that only "y" or "yes" answers with yes. It ends early when
// stop is closed.
func (a *app) ask(question string, stop <-chan struct{}) error {
	if _, err := fmt.Fprintf(a.out, "%s [y/N] ", a.out.Style().Strong(display.Escape(question))); err != nil {
		return writing(err)
	}
	type reply struct {
		text string
		err  error
	}
	replies := make(chan reply, 1)
	go func() {
		text, err := bufio.NewReader(a.in).ReadString('\n')
		replies <- reply{text, err}
	}()
	select {
	case <-stop:
		return errDeclined
	case r := <-replies:
		if r.err != nil && !errors.Is(r.err, io.EOF) {
			return fmt.Errorf("reading the answer: %w", r.err)
		}
		switch strings.ToLower(strings.TrimSpace(r.text)) {
		case "y", "yes":
			return nil
		default:
			return errDeclined
		}
	}
}
