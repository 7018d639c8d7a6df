// Package deploycmd has the commands that run the engine.
package deploycmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/cmd/husk/internal/stackcmd"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/importfile"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/blocking"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/display/timeline"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/workspace"
)

// commands are the commands that run the engine.
type commands struct{ *cli.App }

// Commands returns the commands of this package.
func Commands(a *cli.App) []*cobra.Command {
	c := commands{a}
	return []*cobra.Command{c.up(), c.preview(), c.refresh(), c.destroy(), c.importCommand(), c.action(), c.watch(), c.validate(), c.plan(), c.graph(), c.format()}
}

type command struct {
	name        string
	previewOnly bool
	// operation returns the engine's operation, after project and providers are open.
	operation func(context.Context, *openRun) (engine.Operation, error)
	// result, if set, receives the result of a preview or operation that succeeded.
	result func(context.Context, *openRun, *engine.Result) error
	// program, replaces, and deletes are options of [stackrun.Options].
	program, replaces, deletes bool
	question                   string
}

func (a commands) up() *cobra.Command {
	f := &deployFlags{}
	c := command{name: "up", operation: f.update, program: true, replaces: true, question: "Make these changes?"}
	return a.deployment(c, f, "Create, update, and delete resources to match the program", updateFlags+policyFlags+"plan grant expect-no-changes")
}

func (a commands) preview() *cobra.Command {
	f, listed := &deployFlags{}, &importfile.Listed{}
	operation := func(ctx context.Context, o *openRun) (engine.Operation, error) {
		events := o.Deployment.Events
		o.Deployment.Events = func(e engine.Event) {
			listed.Event(e)
			events(e)
		}
		return f.update(ctx, o)
	}
	c := command{name: "preview", previewOnly: true, operation: operation, result: f.writePlan, program: true, replaces: true}
	cmd := a.deployment(c, f, "Show what an update would do, without changing anything", updateFlags+policyFlags+"save-plan import-file grant expect-no-changes")
	preview := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		changes := preview(cmd, args)
		if changes != nil && !errors.Is(changes, cli.ErrChanges) {
			return changes
		}
		if f.savePlan != "" && !a.IsRun { // the worker's file does not help the reader of the log
			a.Say("Saved the plan in %s: husk plan show %[1]s shows it, and husk up --plan %[1]s does exactly that.", f.savePlan)
		}
		if f.importFile != "" {
			if err := a.writeImportFile(f.importFile, listed); err != nil {
				return err
			}
		}
		return changes
	}
	return cmd
}

// writeImportFile writes the resources that a preview would create.
func (a commands) writeImportFile(name string, listed *importfile.Listed) error {
	text, err := listed.File().Encode()
	if err == nil {
		err = os.WriteFile(name, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing the import file: %w", err)
	}
	a.Say("Listed the resources that would be created in %s: fill in the IDs of existing objects, remove the others, and run husk import --file %[1]s.", name)
	return nil
}

func (a commands) refresh() *cobra.Command {
	f := &deployFlags{}
	operation := func(_ context.Context, o *openRun) (engine.Operation, error) {
		return engine.Refresh{
			Program: o.Program, Selection: f.selection, ClearPendingCreates: f.clearPendingCreates, AdoptPendingCreates: f.adopted,
		}, nil
	}
	c := command{name: "refresh", operation: operation, question: "Record these changes?"}
	return a.deployment(c, f, "Read every resource and record its actual state", recordedFlags+"clear-pending-creates adopt-pending-creates")
}

func (a commands) destroy() *cobra.Command {
	f := &deployFlags{}
	operation := func(_ context.Context, o *openRun) (engine.Operation, error) {
		return engine.Destroy{
			Program: o.Program, RefreshFirst: f.refreshesFirst(o), ContinueOnError: f.continueOnError,
			Selection: f.selection, IgnoreProtect: f.ignoreProtect,
		}, nil
	}
	c := command{name: "destroy", operation: operation, deletes: true, question: "Delete these resources?"}
	cmd := a.deployment(c, f, "Delete every resource of the stack", recordedFlags+failureFlags+"refresh exclude-protected remove")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		changes := run(cmd, args)
		if !f.remove || f.previewOnly || changes != nil && !errors.Is(changes, cli.ErrChanges) {
			return changes
		}
		w, stack, err := a.CurrentStack(cmd.Context())
		if err == nil {
			err = stackcmd.Remove(cmd.Context(), a.App, w, stack, nil)
		}
		return cmp.Or(err, changes)
	}
	return cmd
}

func (a commands) action() *cobra.Command {
	f := &deployFlags{runProgram: true}
	var name string
	operation := func(_ context.Context, o *openRun) (engine.Operation, error) {
		return engine.Act{Program: o.Program, Action: name}, nil
	}
	c := command{name: "action", operation: operation, question: "Run this action?"}
	cmd := a.deployment(c, f, "Run an action of the program by itself", "preview-only installed grant")
	cmd.Use = "action NAME"
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name = args[0]
		return run(cmd, args)
	}
	return cmd
}

// deployment makes a command that runs the engine, with flags beside the common ones.
func (a commands) deployment(c command, f *deployFlags, short, flags string) *cobra.Command {
	var r remoteFlags
	cmd := &cobra.Command{
		Use: c.name, Short: short, Annotations: map[string]string{cli.Events: "json"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := r.check(cmd); err != nil {
				return err
			}
			if r.remote {
				return a.deployRemotely(cmd, c, f, &r)
			}
			c.previewOnly = c.previewOnly || f.previewOnly
			return a.deploy(cmd.Context(), c, f)
		},
	}
	if !c.previewOnly {
		flags += " yes skip-preview"
	}
	f.add(cmd, shownFlags+flags)
	if slices.Contains(runapi.Operations, c.name) {
		r.add(cmd, !c.previewOnly)
	}
	a.AddLimits(cmd.Flags())
	return cmd
}

// deploy runs a command. The display that is open then shows errors.
func (a commands) deploy(ctx context.Context, c command, f *deployFlags) (err error) {
	s := &session{app: a, flags: f}
	if !c.previewOnly && !f.yes {
		s.review = &display.Review{}
	}
	if err := s.openLog(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.closeLog(err)) }()
	if err := s.openTrace(c.name); err != nil {
		return err
	}
	defer func() { s.closeTrace(err) }()
	for _, follower := range a.Followers() {
		s.watch = append(s.watch, follower.Event)
		defer func() { follower.Close(err) }()
	}
	ctx = s.trace.Context(ctx)
	s.begin()
	if err := a.checkDeploy(ctx, c, f); err != nil {
		return s.end(err)
	}
	drawn := s.drawTimeline(f.timeline)
	ctx, stop, end := a.WatchInterrupts(ctx, s.interrupted)
	defer end()
	// Opening may wait for a pipe, or for another's lock.
	o, err := blocking.Call(ctx, func() (*openRun, error) { return s.open(ctx, c, stop) }, func(o *openRun) { _ = o.close(ctx) })
	if err != nil {
		return s.end(err)
	}
	declined, err := s.run(ctx, c, o)
	err = errors.Join(err, o.close(ctx), drawn())
	if !declined {
		err = s.end(err)
	}
	if f.learned != "" {
		a.Say("The grants that the providers used are in %s.", f.learned)
	}
	if err == nil && f.expectNone && s.changed {
		return cli.ErrUnexpected
	}
	if err == nil && f.detailedExit && s.changed {
		return cli.ErrChanges
	}
	return err
}

// run previews and executes what a command does. declined reports that it ended at the question whether
// to go on, after the display of the preview.
func (s *session) run(ctx context.Context, c command, o *openRun) (declined bool, err error) {
	a, f, stop := s.app, s.flags, o.Deployment.Stop
	if err := s.confirmModules(ctx, c, o, stop); err != nil {
		return false, err
	}
	operation, err := c.operation(ctx, o)
	if err != nil {
		return false, err
	}
	finish := func(result *engine.Result) error {
		if c.result == nil {
			return nil
		}
		return c.result(ctx, o, result)
	}
	// All is planned before anything is done: a refusal, such as to delete a protected resource, then stops
	// the run before any change. A plan is carried out as a whole or not at all.
	if c.previewOnly || !f.skipPreview || f.plan != "" {
		if !c.previewOnly && f.yes {
			s.plan()
		}
		result, err := o.Preview(ctx, operation)
		if err == nil {
			s.changed = result.Changes.Total()+result.Actions > 0
			err = finish(result)
		}
		if c.previewOnly || err != nil {
			return false, err
		}
		_ = s.end(nil) // shows the preview, which went well
		if !f.yes && s.changed {
			err = s.ask(c.question, stop)
		} else if !a.JSON {
			err = a.Printf("\n")
		}
		if err != nil {
			return true, err
		}
		s.begin()
	}
	s.executes.Store(true)
	execute := o.Execute
	if s.trace == nil && f.timeline == "" { // which show when the steps of the execution were
		execute = o.ExecutePreviewed
	}
	result, err := execute(ctx, operation, finish)
	if err == nil {
		s.changed = result.Changes.Total()+result.Actions > 0
	}
	return false, err
}

// ask asks whether to go on after a preview. Deletions and replacements come last.
func (s *session) ask(question string, stop <-chan struct{}) error {
	a := s.app
	if losses := s.review.Losses(a.Out.Style()); losses != "" {
		if _, err := fmt.Fprint(a.Out, "\n"+losses+"\n"); err != nil {
			return cli.Writing(err)
		}
	}
	return a.AskWithDetails(question, func() {
		fmt.Fprintln(a.Out)
		s.review.Details(a.Out, a.Errs)
	}, stop)
}

// confirmModules asks about the modules that a refresh or destruction would run because the state names
// them, and that the project has never listed. If there is nobody to ask, they are refused: now, or
// when a selected resource needs them.
func (s *session) confirmModules(ctx context.Context, c command, o *openRun, stop <-chan struct{}) error {
	if c.program {
		return nil
	}
	untrusted, err := o.Plugins.Untrusted(ctx, o.RecordedModules())
	if err != nil || untrusted == nil {
		return err
	}
	a := s.app
	if s.flags.yes || !a.IsInteractive() {
		if len(s.flags.targets)+len(s.flags.excludes) > 0 {
			return nil
		}
		return untrusted
	}
	_ = s.end(nil) // a question has no live lines around it
	defer s.begin()
	names := untrusted.Names()
	a.Remark(strings.ToUpper(names[:1]) + names[1:] + ".")
	for _, m := range untrusted.Modules {
		question := "Run " + m.Digest + " with the grants of " + m.Provider + " and the secrets of its resources?"
		if err := a.Ask(question, stop); err != nil {
			return err
		}
		if err := o.Plugins.Confirm(m); err != nil {
			return err
		}
	}
	return nil
}

func (a commands) checkDeploy(ctx context.Context, c command, f *deployFlags) error {
	if err := f.parse(); err != nil {
		return err
	}
	if f.parallel < 0 {
		return cli.Usagef("--parallel %d: must be at least 1", f.parallel)
	}
	if c.replaces && len(f.grants) > 0 && f.learned == "" {
		return cli.Usagef("--grant requires --learn-grants here: what a program needs always is granted in the project file")
	}
	if f.skipPreview && (c.previewOnly || !f.yes) {
		return cli.Usagef("--skip-preview requires --yes")
	}
	if f.timeline != "" {
		if err := timeline.CheckName(f.timeline); err != nil {
			return cli.Usagef("--timeline %w", err)
		}
	}
	if f.verbose && f.logLevel == "" {
		f.logLevel = display.LogLevels[0]
	}
	for _, digest := range f.trusted {
		if err := plugins.CheckDigest(digest); err != nil {
			return cli.Usagef("--trust-module %s: %w", digest, err)
		}
	}
	if c.previewOnly || f.yes || a.IsInteractive() {
		return nil
	}
	if err := a.checkExists(ctx, c, f); err != nil {
		return err
	}
	instead := "husk preview shows what would be done"
	if !c.program {
		instead = "on a terminal it previews and asks for confirmation"
	}
	if a.JSON {
		return cli.Usagef("husk %s --json cannot ask for confirmation: add --yes (%s)", c.name, instead)
	}
	return cli.Usagef("husk %s needs a terminal to ask for confirmation: add --yes (%s)", c.name, instead)
}

// checkExists returns an error if a project, stack, or plan does not exist, before the user is asked anything.
func (a commands) checkExists(ctx context.Context, c command, f *deployFlags) error {
	w, stack, err := a.CurrentStack(ctx)
	if err != nil {
		return err
	}
	if c.program && w.Detached != nil {
		return w.Detached
	}
	if !c.program || stack != workspace.DefaultStack { // which an update creates
		if _, _, err := w.Read(ctx, stack, true); err != nil {
			return err
		}
	}
	if f.plan != "" {
		_, err = f.readPlan(ctx)
	}
	return err
}
