// Package stackrun opens a stack of a project with its state, configuration, providers, and program, runs
// operations on it, and writes the history. The command line and package automation use it.
package stackrun

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/contents"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/moduleprogram"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/program/yamlprogram"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/runlog"
	"github.com/husk-dev/husk/internal/base/confined"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/workspace"
)

// Options select the project and the stack to open.
type Options struct {
	// Command is the name of the operation, for the lock of the stack and for its history.
	Command string
	// Message says what it is for, in the history; it may be empty.
	Message string
	// Stack is the stack to work on, empty for the selected one.
	Stack string
	// Preview opens a copy of the state without a lock.
	Preview bool
	// Creates makes the stack if it does not exist.
	Creates bool
	// Program runs the project's program.
	Program bool
	// Replaces refuses a program without resources if the stack has some.
	Replaces bool
	// Deletes says that resources are deleted whatever the program says.
	Deletes bool
	// Parallel bounds the steps that run at once; 0 is the engine's default.
	Parallel int
	// Stop stops the deployment, and ends its fetching, building, and compiling at once.
	Stop <-chan struct{}
	// Records is the directory of the record of this run; empty for the stack's directory, and for no record of a preview.
	Records string
	// Events receives every event of the engine, one at a time.
	Events func(engine.Event)
	// Trusted are digests of modules that run although the project has never listed them.
	Trusted []string
	// Plugins are the options of providers. Open sets the ones that follow from the stack.
	Plugins plugins.Options
	// Pulumi runs what needs Pulumi's protocol; without it, that is refused.
	Pulumi Pulumi
}

// mostParallel bounds the steps that run at once for a project that is not trusted: each takes memory of the machine.
const mostParallel = 128

// Pulumi runs programs and plugins that speak Pulumi's protocol. It is an interface so that only a program that needs them links
// them: see package internal/pulumi.
type Pulumi interface {
	// FindRuntime returns an error if programs of a runtime cannot be run, and Runtimes are the runtimes that need no language
	// host.
	FindRuntime(runtime string) error
	Runtimes() []string
	// Program returns the program of a project. report and stop are as in [engine.Deployment].
	Program(p *program.Project, report func(engine.Diagnostic), stop func() <-chan struct{}) engine.Program
	// Install installs the packages of a project's program.
	Install(ctx context.Context, p *program.Project) error
	// StartNative starts a native plugin.
	StartNative(ctx context.Context, o plugins.NativeOptions) (plugins.NativePlugin, error)
	// OpenPolicy returns a policy pack that is a program.
	OpenPolicy(ctx context.Context, o plugins.PolicyOptions) (plugins.PolicyProcess, error)
}

// NeedsPulumi reports whether runs of a project need [Options.Pulumi]: for its program, for a native plugin, or for a policy pack
// that is a program. A project that is not trusted may have none of them, which Open says.
func NeedsPulumi(p *program.Project) bool {
	return p.Root.Trusted() && (!isOwn(p.Runtime) ||
		slices.ContainsFunc(p.Providers, func(d program.ProviderPlugin) bool { return d.Native }) ||
		slices.ContainsFunc(p.Policies, func(d program.PolicyPack) bool { return program.IsPolicyProgram(p.Root, p.Path(d.Path)) }))
}

// isOwn reports whether Husk runs programs of a runtime itself, and confined.
func isOwn(runtime string) bool {
	return runtime == program.RuntimeYAML || runtime == program.RuntimeWASM
}

// Run is an opened stack. Close releases it.
type Run struct {
	Workspace  *workspace.Workspace
	Deployment engine.Deployment
	// Program is nil for operations without the project's program.
	Program engine.Program
	Plugins *plugins.Plugins
	// Record is nil if the run is not recorded.
	Record *runlog.Recorder

	command, message string
	// executed is set when the run's operation begins, and failed is its error.
	executed bool
	// kept says that the record is kept with the stack.
	kept   bool
	failed error
	// update is for the history of the stack, nil if nothing was executed.
	update   *workspace.Update
	warnings warnings
	// replay has the events of a preview, nil if nothing is executed after it, and repeats is its result if there is nothing else
	// to do.
	replay  *replay
	repeats *engine.Result
	// sampled has the instances that the record samples, nil until there are providers.
	sampled atomic.Pointer[plugins.Plugins]
}

// Withheld returns the files that no provider gets by a grant of a directory above them: the workspace's files, and the user's
// keys, passphrases, and trusted modules.
func Withheld(w *workspace.Workspace) []string {
	return slices.Concat(w.OwnFiles(), secrets.SystemKeys(nil).Files(), plugins.UserFiles())
}

// Version returns the version of Husk in this program, "(devel)" if it is not known.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == "github.com/husk-dev/husk" && m.Version != "" {
				return m.Version
			}
		}
	}
	return "(devel)"
}

// Open opens a stack of a project with its providers. The program of a project that is not trusted must be one of YAML, or a
// module, and reads only files of the project, and URLs of the Internet; for its providers see [plugins.Options].
func Open(ctx context.Context, w *workspace.Workspace, o Options) (_ *Run, err error) {
	report := o.Plugins.Events
	if w.Detached != nil {
		if o.Program {
			return nil, w.Detached
		}
		report(engine.Diagnostic{Severity: "info", Message: fmt.Sprintf(
			"no project file here: using the state in %s; providers may do only what --grant allows", w.Place)})
	}
	for _, warning := range w.Project.Warnings {
		reportWarning(report, warning)
	}
	if o.Program {
		if err := o.checkRuntime(w.Project); err != nil {
			return nil, err
		}
	}
	stack, err := w.Stack(o.Stack)
	if err != nil {
		return nil, err
	}
	config, err := w.Config(stack)
	if err != nil {
		return nil, err
	}
	ds, _ := config.Check()
	if ds.HasErrors() {
		return nil, ds
	}
	for _, warning := range ds {
		reportWarning(report, warning)
	}
	var st *state.Stack
	switch {
	case o.Preview:
		st, err = w.Copy(ctx, stack)
	case o.Creates:
		st, err = w.Lease(ctx, stack, o.Command)
	default:
		st, err = w.LeaseExisting(ctx, stack, o.Command)
	}
	if err != nil {
		return nil, err
	}
	if !w.Project.Root.Trusted() {
		o.Parallel = min(o.Parallel, mostParallel)
	}
	o.Plugins.Withheld, o.Plugins.Runs = append(Withheld(w), o.Plugins.Withheld...), true
	r := &Run{Workspace: w, command: o.Command, message: o.Message, Deployment: engine.Deployment{
		Project: w.Project.Name, Stack: stack, Organization: state.Organization,
		State: st, Stacks: w.References(), Parallel: o.Parallel, Events: o.Events, Secrets: o.Plugins.Secrets, Version: Version(), Stop: o.Stop,
		Contents: programContents(w.Project, o.Plugins.Withheld),
	}}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close(ctx))
		}
	}()
	if o.Replaces {
		if err := checkHasResources(w.Project, st); err != nil {
			return nil, err
		}
	}
	reportRecovery(report, st.Recovery())
	// The state comes first: the key of a stack that was just made can open the configuration.
	if r.Deployment.Config, err = config.Entries(ctx); err != nil {
		return nil, err
	}
	r.Deployment.AtConfig = AtConfig(config)
	p := o.Plugins
	if p.StateModules, err = plugins.OpenStateModules(w.Project, o.Trusted); err != nil {
		return nil, err
	}
	r.record(&p, o, stack)
	said := p.Events
	p.Events = func(e engine.Event) {
		r.replay.hear(e)
		said(r.warnings.once(e))
	}
	if !o.Preview {
		r.replay = &replay{says: p.Events}
	}
	p.Instances, p.Config = o.Parallel, r.Deployment.Config
	p.Modules, p.Shared, p.Stores = w.ModulesDir(), w.SharedModules(), w.Stores(context.WithoutCancel(ctx), stack)
	p.RunNative, p.Stop = true, o.Stop
	if o.Pulumi != nil {
		p.StartNative = o.Pulumi.StartNative
		p.OpenPolicy = func(ctx context.Context, options plugins.PolicyOptions) (plugins.PolicyProcess, error) {
			options.Run.Stack, options.Run.Organization = r.Deployment.Stack, r.Deployment.Organization
			return o.Pulumi.OpenPolicy(ctx, options)
		}
	}
	p.Recorded = engine.Modules(st.Snapshot())
	if r.Plugins, err = plugins.Open(ctx, w.Project, p); err != nil {
		return nil, err
	}
	r.Deployment.Providers = r.Plugins
	r.sampled.Store(r.Plugins)
	if o.Program {
		r.Program = r.programOf(w.Project, o.Pulumi, report)
	}
	return r, nil
}

// AtConfig returns a function that places errors about values of a stack's configuration at their lines of its file.
func AtConfig(config *workspace.Config) func(engine.ConfigValue, error) error {
	return func(at engine.ConfigValue, err error) error {
		summary, detail, _ := strings.Cut(err.Error(), "\n")
		d := config.At(at.Key, at.Path, at.Secret, summary)
		d.Detail, d.Cause = detail, err
		return source.Diagnostics{d}
	}
}

// programOf returns the program of a project, whose runtime is supported.
func (r *Run) programOf(p *program.Project, pulumi Pulumi, report func(engine.Event)) engine.Program {
	stop := func() <-chan struct{} { return r.Deployment.Stop }
	if p.Runtime == program.RuntimeWASM {
		return moduleprogram.New(p, r.Plugins.Program, stop)
	}
	if !isOwn(p.Runtime) {
		return pulumi.Program(p, func(d engine.Diagnostic) { report(d) }, stop)
	}
	yaml := yamlprogram.New(p, r.Plugins)
	r.warnings.of(yaml)
	yaml.Limit(r.Plugins.Evaluation())
	yaml.OnWarning(func(d source.Diagnostic) { reportWarning(report, d) })
	return yaml
}

// Preview plans an operation.
func (r *Run) Preview(ctx context.Context, o engine.Operation) (*engine.Result, error) {
	result, err := engine.Preview(ctx, r.replay.listen(r.Deployment), o)
	r.failed, r.repeats = err, nil
	if err == nil && result.Settled {
		r.repeats = result
	}
	return result, err
}

// ExecutePreviewed is Execute for the operation that Preview has just planned. If it would only repeat the preview, the events of
// the preview are told once more instead.
func (r *Run) ExecutePreviewed(ctx context.Context, o engine.Operation, finish func(*engine.Result) error) (*engine.Result, error) {
	return r.execute(ctx, finish, func() (*engine.Result, error) {
		events := r.replay.end()
		if r.repeats == nil || events == nil || ctx.Err() != nil || isClosed(r.Deployment.Stop) || !r.Plugins.Repeat(ctx) {
			return engine.Run(ctx, r.Deployment, o)
		}
		r.replay.play(events, r.Deployment)
		return r.repeats, nil
	})
}

// Execute runs an operation, which Close adds to the history of the stack. finish, unless nil, receives the
// result of a successful operation.
func (r *Run) Execute(ctx context.Context, o engine.Operation, finish func(*engine.Result) error) (*engine.Result, error) {
	return r.execute(ctx, finish, func() (*engine.Result, error) { return engine.Run(ctx, r.Deployment, o) })
}

func (r *Run) execute(ctx context.Context, finish func(*engine.Result) error, run func() (*engine.Result, error)) (*engine.Result, error) {
	r.Plugins.Perform()
	r.executed = true
	update := r.Workspace.Begun(r.command)
	update.Message = r.message
	result, err := run()
	r.failed = err
	if err == nil && finish != nil {
		err = finish(result)
	}
	if result != nil {
		update.Changes = &result.Changes
	}
	update = update.Ended(err)
	r.update = &update
	if err == nil {
		inUse := func() (map[string]bool, error) { return r.Workspace.ModulesInUse(ctx, r.Deployment.State) }
		if err := r.Plugins.CollectModules(inUse); err != nil {
			r.Plugins.Diagnose(engine.Diagnostic{Severity: "warning", Message: NotCollected(err)})
		}
	}
	return result, err
}

// NotCollected returns the warning for modules that could not be collected, for example because another
// stack is damaged or belongs to another user.
func NotCollected(err error) string {
	return "could not remove the modules that no stack needs: " + err.Error()
}

// Fail has the record say that the run failed, for failures outside of previews and executions. A nil error changes nothing.
func (r *Run) Fail(err error) {
	if err != nil {
		r.failed = err
	}
}

// RecordedModules returns the modules that the state names.
func (r *Run) RecordedModules() []plugins.RecordedModule {
	var named []plugins.RecordedModule
	for _, res := range r.Deployment.State.Snapshot().Resources() {
		if res.IsProvider() {
			if spec, err := engine.SpecOf(res); err == nil { // the engine reports the error
				named = append(named, plugins.RecordedModule{Digest: spec.Digest, Provider: spec.Name})
			}
		}
	}
	return named
}

// Close saves the state and releases everything, even if the context was cancelled.
func (r *Run) Close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if r.Record != nil {
		r.Record.Rest()
	}
	return r.Deployment.State.CloseWith(ctx, func(lease state.Lease, err error) error { return r.release(ctx, lease, err) })
}

// checkHasResources refuses a program without resources if the stack has some: all would be deleted.
func checkHasResources(p *program.Project, st *state.Stack) error {
	if p.Runtime != program.RuntimeYAML || p.Template.Resources != nil && !source.IsNull(p.Template.Resources) {
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

// programContents returns the source of assets in the program's directory. Computed paths cannot read the project's own files,
// files that are withheld from providers, and repositories such as .git.
func programContents(p *program.Project, withheld []string) contents.Source {
	source := contents.Source{
		Root: p.Root, Dir: p.ProgramDir, Within: p.Dir, Fetch: contents.HTTP(http.ProxyFromEnvironment),
		Withheld: slices.Concat(p.OwnFiles(), withheld),
	}
	for _, name := range confined.Repositories {
		source.Withheld = append(source.Withheld, filepath.Join(p.Dir, "**", name))
	}
	if p.Runtime == program.RuntimeWASM { // it is confined, whoever has written it
		source.Root, source.Dir = projectroot.New(p.Dir, projectroot.Untrusted), p.Dir
		return source
	}
	if below, err := filepath.Rel(p.Dir, p.ProgramDir); err != nil || !filepath.IsLocal(below) {
		source.Within = p.ProgramDir
	}
	return source
}

// reportWarning reports a warning about the project with the line that it is about.
func reportWarning(report func(engine.Event), d source.Diagnostic) {
	d.Severity = source.Error // the event says that it is a warning
	report(engine.Diagnostic{Severity: "warning", Message: source.Diagnostics{d}.Error()})
}

// checkRuntime returns an error for a project whose program cannot be run.
func (o *Options) checkRuntime(p *program.Project) error {
	if isOwn(p.Runtime) {
		return nil
	}
	if !p.Root.Trusted() {
		d := p.File.Errorf(source.Position{}, "the program has the runtime %s, which runs outside of the sandbox", p.Runtime)
		d.Detail = "a project that is not trusted may have only programs of the runtimes " + program.RuntimeYAML + " and " + program.RuntimeWASM
		return source.Diagnostics{d}
	}
	if o.Pulumi == nil {
		d := p.File.Errorf(source.Position{}, "the program has the runtime %s, which this process cannot run", p.Runtime)
		d.Detail = "it was started for a project of the runtime " + program.RuntimeYAML + ": start it anew"
		return source.Diagnostics{d}
	}
	err := o.Pulumi.FindRuntime(p.Runtime)
	if err == nil {
		return nil
	}
	d := p.File.Errorf(source.Position{}, "%v", err)
	d.Detail = "husk itself runs programs of the runtimes " + strings.Join(append(o.Pulumi.Runtimes(), program.RuntimeWASM, program.RuntimeYAML), ", ")
	return source.Diagnostics{d}
}

func reportRecovery(report func(engine.Event), r state.Recovery) {
	if r.Records > 0 {
		changes := "1 change"
		if r.Records > 1 {
			changes = fmt.Sprintf("%d changes", r.Records)
		}
		report(engine.Diagnostic{Severity: "warning",
			Message: fmt.Sprintf("an earlier run was interrupted: recovered the %s that it had recorded", changes)})
	}
	if d := r.Dropped; d != nil {
		report(engine.Diagnostic{Severity: "warning", Message: fmt.Sprintf(
			"an earlier run was interrupted while it wrote to %s: dropped an incomplete record of %d bytes at the end (%s)", d.File, d.Size, d.Reason)})
	}
}
