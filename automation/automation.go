// Package automation deploys projects from Go programs, as the command husk does: it loads a project, selects a stack, and
// previews, updates, refreshes, or destroys it. It shares state, configuration, providers, and history with the command, which
// can go on with the same stack.
//
//	project, err := automation.Open(ctx, "website", automation.Options{})
//	stack, err := project.Stack("dev")
//	result, err := stack.Run(ctx, engine.Up{}, automation.RunOptions{Progress: os.Stdout})
package automation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/backend"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/host"
	places "github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/pulumi"
	"github.com/husk-dev/husk/internal/run/stackrun"
	"github.com/husk-dev/husk/internal/workspace"
)

// Options are the options of [Open].
type Options struct {
	// Remark receives messages for the user, such as that a key for secrets was made; nil for nobody.
	Remark func(message string)
	// Store opens the store of the states in a directory; nil stands for files.
	Store func(directory string) state.Store
	// BackendURL is where the stacks are, such as file:///var/lib/stacks or postgres://user@host/database. It goes before all that
	// the environment, the project, and husk login name. The program has named it, so it gets the credentials of the
	// environment.
	BackendURL string
	// Backends are the kinds of backends beside directories that the program takes.
	Backends []backend.Kind
	// ProjectFile is the text of a project file, for a directory without one. Its program is Go if each [engine.Up] has one.
	ProjectFile []byte
	// Untrusted says that the project is somebody else's: nothing of it runs outside the sandbox, and it gets no files,
	// variables, or addresses of this machine and its network, whatever it names or grants.
	Untrusted bool
}

// Project is a loaded project. It is safe for concurrent use.
type Project struct {
	workspace *workspace.Workspace
	secrets   *redact.Secrets
}

// Open loads the project in a directory. The error comes from [program.LoadProject] or from the backend.
func Open(ctx context.Context, dir string, o Options) (*Project, error) {
	if o.Remark == nil {
		o.Remark = func(string) {}
	}
	known := &redact.Secrets{}
	trust := projectroot.Trusted
	if o.Untrusted {
		trust = projectroot.Untrusted
	}
	w, err := workspace.Open(ctx, projectroot.New(dir, trust), workspace.Options{
		Remark: o.Remark, Store: o.Store, Secrets: known, Backends: openersOf(o.Backends),
		Backend: o.BackendURL, BackendOrigin: "the BackendURL of automation.Options", File: o.ProjectFile,
	})
	if err != nil {
		return nil, err
	}
	if w.Detached != nil {
		return nil, w.Detached
	}
	return &Project{workspace: w, secrets: known}, nil
}

// packages have the kinds of backends that Husk has, by the schemes of their URLs.
var packages = map[string]string{
	"postgres": "postgres", "postgresql": "postgres", "s3": "s3", "sqlite": "sqlite", "https": "remote", "http": "remote",
}

func openersOf(kinds []backend.Kind) map[string]places.Opener {
	openers := make(map[string]places.Opener)
	for scheme, name := range packages {
		openers[scheme] = func(context.Context, named.URL, string) (*places.Backend, error) {
			return nil, fmt.Errorf("this program takes no backend %s://…: it needs %s.Kind() of github.com/husk-dev/husk/backend/%s among the Backends of automation.Options",
				scheme, name, name)
		}
	}
	for _, kind := range kinds {
		for _, scheme := range kind.Schemes {
			openers[scheme] = kind.Open
		}
	}
	return openers
}

// File returns the contents of the project file.
func (p *Project) File() *program.Project { return p.workspace.Project }

// Stacks returns the names of the project's stacks, sorted.
func (p *Project) Stacks(ctx context.Context) ([]string, error) { return p.workspace.Stacks(ctx) }

// NewStack makes a stack without selecting it.
func (p *Project) NewStack(ctx context.Context, name string) (*Stack, error) {
	if err := p.workspace.Init(ctx, name); err != nil {
		return nil, err
	}
	return &Stack{project: p, name: name}, nil
}

// Stack returns a stack of the project. An empty name stands for the selected stack, or else for dev, which
// the first update makes. [Project.NewStack] makes other stacks.
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

// Outputs returns the outputs of the last update, with secrets in plain text.
func (s *Stack) Outputs(ctx context.Context) (property.Map, error) {
	snapshot, _, err := s.project.workspace.Read(ctx, s.name, false)
	if err != nil {
		return property.Map{}, err
	}
	return workspace.Outputs(snapshot), nil
}

// Remove removes the stack, unless it still has resources. Its configuration file stays.
func (s *Stack) Remove(ctx context.Context) error {
	return s.project.workspace.Remove(ctx, s.name, nil)
}

// RunOptions are the options of every operation on a stack.
type RunOptions struct {
	// Progress receives the text that the command would show; nil for nobody.
	Progress io.Writer
	// Diff shows in the progress what differs in each resource.
	Diff bool
	// Events receives every event, one at a time, without secrets; nil for nobody.
	Events func(engine.Event)
	// Stop, when closed, lets running steps finish and starts no others.
	Stop <-chan struct{}
	// Parallel bounds the resources that are deployed at once; 0 stands for four for each processor, at least 32.
	Parallel int
	// RunProgram runs the project's program for an [engine.Refresh] or [engine.Destroy], which gives
	// providers their current configuration.
	RunProgram bool
	// Grants are granted to providers by name, in addition to the project's.
	Grants map[string]host.Grants
	// Limits override the project's limits, as NAME=VALUE or PROVIDER:NAME=VALUE.
	Limits []string
	// Trusted are the digests of modules that may run because the state names them, although the project
	// has never listed them.
	Trusted []string
}

// Preview returns the plan of Run, and changes nothing.
func (s *Stack) Preview(ctx context.Context, operation engine.Operation, o RunOptions) (*engine.Result, error) {
	return s.do(ctx, operation, o, true)
}

// Run executes an operation on the stack, which it locks, and adds it to the stack's history. An
// [engine.Up] without a program gets the project's program and policies, and [engine.Act] the program.
func (s *Stack) Run(ctx context.Context, operation engine.Operation, o RunOptions) (*engine.Result, error) {
	return s.do(ctx, operation, o, false)
}

func (s *Stack) do(ctx context.Context, operation engine.Operation, o RunOptions, preview bool) (result *engine.Result, err error) {
	event := oneAtATime(o.Events)
	if o.Progress != nil {
		out := display.NewOutput(struct{ io.Writer }{o.Progress}, s.project.secrets) // no terminal
		progress := display.NewText(out, out, display.Options{Diff: o.Diff})
		defer func() { progress.Close(err) }()
		received := event
		event = func(e engine.Event) {
			received(e)
			progress.Event(e)
		}
	}
	options, err := s.options(operation, o, preview, event)
	if err != nil {
		return nil, err
	}
	run, err := stackrun.Open(ctx, s.project.workspace, options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, run.Close(ctx)) }()
	if operation, err = withProgram(ctx, operation, run); err != nil {
		return nil, err
	}
	if preview {
		return run.Preview(ctx, operation)
	}
	return run.Execute(ctx, operation, nil)
}

// options returns the options to open a stack for an operation.
func (s *Stack) options(operation engine.Operation, o RunOptions, preview bool, event func(engine.Event)) (stackrun.Options, error) {
	options := stackrun.Options{
		Stack: s.name, Preview: preview, Program: o.RunProgram, Parallel: o.Parallel,
		Events: event, Trusted: o.Trusted, Stop: o.Stop, Pulumi: pulumi.Host{},
	}
	switch operation := operation.(type) {
	case engine.Up:
		options.Command, options.Creates, options.Program = "up", true, operation.Program == nil
		options.Replaces = options.Program
	case engine.Refresh:
		options.Command = "refresh"
	case engine.Destroy:
		options.Command, options.Deletes = "destroy", true
	case engine.Act:
		options.Command, options.Program = "action", operation.Program == nil
	case engine.Import:
		options.Command, options.Creates = "import", true
	}
	limits, err := plugins.ParseLimits(o.Limits)
	if err != nil {
		return options, err
	}
	places, err := plugins.FindPlaces()
	options.Plugins = plugins.Options{
		Places: places, Limits: limits, Grants: o.Grants, Secrets: s.project.secrets,
		Events: func(e engine.Event) { event(redact.Copy(s.project.secrets, e)) },
	}
	return options, err
}

// withProgram gives an operation the project's program, if that was opened.
func withProgram(ctx context.Context, operation engine.Operation, run *stackrun.Run) (engine.Operation, error) {
	if run.Program == nil {
		return operation, nil
	}
	switch o := operation.(type) {
	case engine.Up:
		policies, err := run.Plugins.Policies(ctx, nil)
		o.Program, o.Policies = run.Program, append(policies, o.Policies...)
		return o, err
	case engine.Act:
		o.Program = run.Program
		return o, nil
	case engine.Refresh:
		o.Program = run.Program
		return o, nil
	case engine.Destroy:
		o.Program = run.Program
		return o, nil
	}
	return operation, errors.New("RunProgram is an option of Refresh and Destroy")
}

// oneAtATime returns f, which may be nil, without concurrent calls: diagnostics come from any goroutine.
func oneAtATime(f func(engine.Event)) func(engine.Event) {
	if f == nil {
		return func(engine.Event) {}
	}
	var mu sync.Mutex
	return func(e engine.Event) {
		mu.Lock()
		defer mu.Unlock()
		f(e)
	}
}
