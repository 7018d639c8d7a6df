// Package automation deploys projects from Go programs, as the command husk does: it loads a project,
// selects a stack, and previews, updates, refreshes, or destroys it. State, configuration, providers,
// and history are those of the command, which can go on with the same stack.
//
//	project, err := automation.Open(ctx, "website", automation.Options{})
//	stack, err := project.Stack("dev")
//	result, err := stack.Run(ctx, engine.Up{}, automation.RunOptions{Progress: os.Stdout})
package automation

import (
	"context"
	"errors"
	"io"
	"runtime/debug"
	"slices"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/stackrun"
	"github.com/husk-dev/husk/internal/workspace"
)

// Options say how a project is opened.
type Options struct {
	// Remark receives what the user of the program should know, such as that a key for secrets was
	// made; nil for nobody.
	Remark func(message string)
	// Store opens the store of the states in a directory; nil is that of files.
	Store func(directory string) state.Store
}

// Project is a project that was loaded. It is safe for concurrent use.
type Project struct {
	workspace *workspace.Workspace
	secrets   *redact.Secrets
}

// Open loads the project in a directory. The error is that of [program.LoadProject], or about the
// backend.
func Open(ctx context.Context, dir string, o Options) (*Project, error) {
	if o.Remark == nil {
		o.Remark = func(string) {}
	}
	known := &redact.Secrets{}
	w, err := workspace.Open(ctx, dir, workspace.Options{Remark: o.Remark, Store: o.Store, Secrets: known})
	if err != nil {
		return nil, err
	}
	if w.Detached != nil {
		return nil, w.Detached
	}
	return &Project{workspace: w, secrets: known}, nil
}

// File returns what the project file says.
func (p *Project) File() *program.Project { return p.workspace.Project }

// Stacks returns the names of the project's stacks, sorted.
func (p *Project) Stacks(ctx context.Context) ([]string, error) { return p.workspace.Stacks(ctx) }

// NewStack makes a stack, which does not become the selected one.
func (p *Project) NewStack(ctx context.Context, name string) (*Stack, error) {
	if err := p.workspace.Init(ctx, name); err != nil {
		return nil, err
	}
	return &Stack{project: p, name: name}, nil
}

// Stack returns a stack of the project, the selected one if the name is empty. That is dev if none was
// selected; an update makes it. Other stacks are made by [Project.NewStack].
func (p *Project) Stack(name string) (*Stack, error) {
	name, err := p.workspace.Stack(name)
	if err != nil {
		return nil, err
	}
	return &Stack{project: p, name: name}, nil
}

// Stack is one instance of a project's program.
type Stack struct {
	project *Project
	name    string
}

// Name returns the stack's name.
func (s *Stack) Name() string { return s.name }

// Outputs returns the outputs of the last update. Secrets in it are readable.
func (s *Stack) Outputs(ctx context.Context) (property.Map, error) {
	snapshot, _, err := s.project.workspace.Read(ctx, s.name, false)
	if err != nil {
		return property.Map{}, err
	}
	return workspace.Outputs(snapshot), nil
}

// Remove removes the stack with its configuration. The error says so if it still has resources.
func (s *Stack) Remove(ctx context.Context) error {
	return s.project.workspace.Remove(ctx, s.name, false)
}

// RunOptions are those of every operation on a stack.
type RunOptions struct {
	// Progress is written what the command would show; nil for nobody.
	Progress io.Writer
	// Diff has the progress show what differs in each resource.
	Diff bool
	// Events receives every event, one at a time; nil for nobody. Secrets in it are hidden.
	Events func(engine.Event)
	// Stop, once closed, lets running steps finish and starts no others.
	Stop <-chan struct{}
	// Parallel bounds the resources that are worked on at once; 0 is four for each processor.
	Parallel int
	// RunProgram has a [engine.Refresh] or [engine.Destroy] run the project's program, which gives
	// providers the configuration that they have now.
	RunProgram bool
	// Grants are what providers may do beside what the project grants them, by name.
	Grants map[string]host.Grants
	// Limits are set before those of the project, as NAME=VALUE or PROVIDER:NAME=VALUE.
	Limits []string
	// Trusted are the digests of modules that a refresh or destruction runs because the state names
	// them, though the project has never listed them.
	Trusted []string
}

// Preview tells what Run would do. Nothing is changed.
func (s *Stack) Preview(ctx context.Context, operation engine.Operation, o RunOptions) (*engine.Result, error) {
	return s.do(ctx, operation, o, true)
}

// Run carries an operation out, and adds it to the history of the stack. An [engine.Up] without a
// program has that of the project, and with it the project's policies. The stack is leased meanwhile.
func (s *Stack) Run(ctx context.Context, operation engine.Operation, o RunOptions) (*engine.Result, error) {
	return s.do(ctx, operation, o, false)
}

func (s *Stack) do(ctx context.Context, operation engine.Operation, o RunOptions, preview bool) (result *engine.Result, err error) {
	shown := &shown{to: o.Events}
	if o.Progress != nil {
		out := display.NewOutput(struct{ io.Writer }{o.Progress}, s.project.secrets) // no terminal
		shown.display = display.NewText(out, out, display.Options{Diff: o.Diff})
	}
	defer func() { shown.close(err) }()
	options, err := s.options(operation, o, preview, shown)
	if err != nil {
		return nil, err
	}
	run, err := stackrun.Open(ctx, s.project.workspace, options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, run.Close(ctx)) }()
	run.Deployment.Stop = o.Stop
	if operation, err = withProgram(ctx, operation, run); err != nil {
		return nil, err
	}
	if preview {
		return engine.Preview(ctx, run.Deployment, operation)
	}
	return run.Execute(ctx, operation, nil)
}

// options are those of an operation.
func (s *Stack) options(operation engine.Operation, o RunOptions, preview bool, shown *shown) (stackrun.Options, error) {
	options := stackrun.Options{
		Stack: s.name, Preview: preview, Program: o.RunProgram, Parallel: o.Parallel,
		Events: shown.event, Version: version(), Trusted: o.Trusted,
	}
	switch operation := operation.(type) {
	case engine.Up:
		options.Command, options.Creates, options.Program = "up", true, operation.Program == nil
	case engine.Refresh:
		options.Command = "refresh"
	case engine.Destroy:
		options.Command, options.Deletes = "destroy", true
	case engine.Import:
		options.Command, options.Creates = "import", true
	}
	limits := make([]plugins.Limit, len(o.Limits))
	for i, text := range o.Limits {
		var err error
		if limits[i], err = plugins.ParseLimit(text); err != nil {
			return options, err
		}
	}
	places, err := plugins.FindPlaces()
	options.Plugins = plugins.Options{
		Places: places, Limits: limits, Grants: o.Grants, Secrets: s.project.secrets,
		Withheld:    slices.Concat(s.project.workspace.OwnFiles(), secrets.SystemKeys(nil).Files(), plugins.UserFiles()),
		Diagnostics: func(d engine.Diagnostic) { shown.event(redact.Copy(s.project.secrets, d)) },
		Preparing:   func(e engine.Preparing) { shown.event(e) },
	}
	return options, err
}

// withProgram gives an operation the project's program, if it is to run that.
func withProgram(ctx context.Context, operation engine.Operation, run *stackrun.Run) (engine.Operation, error) {
	if run.Program == nil {
		return operation, nil
	}
	switch o := operation.(type) {
	case engine.Up:
		policies, err := run.Plugins.Policies(ctx, nil)
		o.Program, o.Policies = run.Program, append(policies, o.Policies...)
		return o, err
	case engine.Refresh:
		o.Program = run.Program
		return o, nil
	case engine.Destroy:
		o.Program = run.Program
		return o, nil
	}
	return operation, errors.New("RunProgram is an option of Refresh and Destroy")
}

// version returns the version of Husk in the program, "(devel)" if it is not known.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == "github.com/husk-dev/husk" && m.Version != "" {
				return m.Version
			}
		}
	}
	return "(devel)"
}
