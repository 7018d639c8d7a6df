// Package plugins makes providers out of what a project lists under
// plugins.providers, and policy packs out of what it lists under policies: it builds those that are Go source, loads modules into one
// host, and gives each provider the grants that the project wrote down. It serves
// the engine as its loader, and YAML programs with the schemas of packages.
package plugins

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/blang/semver/v4"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/program/yamlprogram"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/gobuild"
)

// Options say how providers are loaded.
type Options struct {
	// Places are the directories for modules; see [FindPlaces].
	Places Places
	// Instances bounds the calls that one provider serves at once; 0 is the host's default.
	Instances int
	// Modules is the directory of the modules that resources were made with, empty for
	// none.
	Modules string
	// Trust is which modules that a state names may be run; nil is none of them.
	Trust *Trust
	// Installed says to use the modules that the project lists even for what others made.
	Installed bool
	// Effects says that providers will probably create or delete something, for which all of
	// their code has to be loaded.
	Effects bool
	// Limits are set by the user of the command, and go before those of the project.
	Limits []Limit
	// Grants are what providers may do beside what the project grants them, by name. A
	// store among them stands for the provider's own.
	Grants map[string]host.Grants
	// Withheld are further files that no provider is granted with a directory above them, beside
	// those of the project; see [host.Grants].
	Withheld []string
	// Config is the stack's configuration, which grants may refer to. Where it is nil, the
	// headers that do are left out.
	Config []abi.ConfigEntry
	// Stores is the directory for what providers keep, empty for memory. What they change
	// before [Plugins.Perform] is forgotten.
	Stores string
	// Secrets learns the credentials that grants add to requests; nil for nobody.
	Secrets *redact.Secrets
	// Audit receives each use of a capability, as it is made; nil for nobody. It may be
	// called concurrently.
	Audit func(host.Use)
	// Diagnostics receives what providers log and print. It may be called concurrently.
	Diagnostics func(engine.Diagnostic)
	// Preparing receives what is built and compiled for longer than a moment; nil for
	// nobody. It may be called concurrently.
	Preparing func(engine.Preparing)
}

// Plugins are the providers of one project. It is safe for concurrent use. Close
// it when no provider of it is used any more.
type Plugins struct {
	project  *program.Project
	options  Options
	limits   limits
	config   host.Config
	host     *host.Host
	builder  *gobuild.Builder
	progress progress
	// preparing has an element for each module that is being built or loaded.
	preparing chan struct{}

	performing atomic.Bool // see Perform
	kept       atomic.Bool // that a module was, see CollectModules

	mu      sync.Mutex
	modules map[string]*loading    // by path
	stores  map[string]*host.Store // by provider
	// claims are the modules that this run has kept, nil for none.
	claims *claims
	// policies are those that were made.
	policies []*host.Policy
}

// preparedAtOnce bounds how many modules are built or loaded at once. The Go command makes
// use of all processors for one, but not all of the time.
func preparedAtOnce() int { return max(2, runtime.GOMAXPROCS(0)) }

// loading is a module that is being built, loaded, and asked who it is; done is
// closed once the rest is set.
type loading struct {
	done   chan struct{}
	module *Module
	err    error
}

// Open makes the plugins of a project. project may be nil where only [Plugins.Module] is used.
func Open(ctx context.Context, project *program.Project, o Options) (*Plugins, error) {
	if o.Diagnostics == nil {
		o.Diagnostics = func(engine.Diagnostic) {}
	}
	if o.Preparing == nil {
		o.Preparing = func(engine.Preparing) {}
	}
	p := &Plugins{
		project: project, options: o,
		builder:  &gobuild.Builder{Dir: o.Places.built()},
		progress: progress{tell: o.Preparing, now: time.Now, after: afterwards}, preparing: make(chan struct{}, preparedAtOnce()),
		modules: make(map[string]*loading), stores: make(map[string]*host.Store),
	}
	var err error
	if p.limits, err = limitsOf(project, o.Limits); err != nil {
		return nil, err
	}
	if p.config, err = p.limits.configure(o.Places.configure(host.NewConfig()).WithAudit(o.Audit).WithAdvice(adviceFor(project))); err != nil {
		return nil, err
	}
	if p.host, err = host.New(ctx, p.config); err != nil {
		return nil, fmt.Errorf("%w (%s)", err, o.Places.remedy())
	}
	return p, nil
}

// Perform says that what was done so far was a preview, and that a deployment is carried
// out from now on. Its state will name the modules that are loaded, so they are kept; and
// so is what providers store, which begins with what was there before the preview.
func (p *Plugins) Perform() {
	p.performing.Store(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.stores)
}

// Diagnose gives a message to who receives what providers say.
func (p *Plugins) Diagnose(d engine.Diagnostic) { p.options.Diagnostics(d) }

// Close ends the policies, the host, and the claims to modules. What the run has changed must be
// saved by then.
func (p *Plugins) Close(ctx context.Context) error {
	errs := []error{p.endClaims()}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, policy := range p.policies {
		errs = append(errs, policy.Close())
	}
	return errors.Join(append(errs, p.host.Close(ctx))...)
}

// UnknownError says that the project lists no provider of the package.
type UnknownError struct {
	Package string
	// Known are the packages that it lists, and File is where.
	Known []string
	File  string
}

// Error says what to add.
func (e *UnknownError) Error() string {
	listed := "lists no providers"
	if len(e.Known) > 0 {
		listed = "lists only " + strings.Join(e.Known, ", ")
	}
	return fmt.Sprintf("there is no provider for the package %q%s\nplugins.providers in %s %s; add an entry there:\n  - name: %s\n    path: <a .wasm file, or a directory of Go source>",
		e.Package, source.DidYouMean(e.Package, e.Known), e.File, listed, e.Package)
}

// Is reports that the error is the program's ErrUnknownPackage.
func (e *UnknownError) Is(target error) bool { return target == yamlprogram.ErrUnknownPackage }

// Load implements [engine.Loader].
func (p *Plugins) Load(ctx context.Context, spec engine.PackageSpec) (abi.Provider, error) {
	if spec.Digest != "" {
		provider, err := p.recorded(ctx, spec)
		if err != nil || provider != nil {
			return provider, err
		}
	}
	declared, module, err := p.declared(ctx, spec.Name, spec.Version)
	if err != nil {
		return nil, err
	}
	if p.performing.Load() && p.options.Modules != "" {
		p.trust(module)
		if err := p.Keep(module); err != nil {
			return nil, fmt.Errorf("keeping the module of provider %s beside the state: %w", declared.Name, err)
		}
	}
	return loaded(p.granted(ctx, declared, module))
}

// granted makes a provider that has what the project grants it.
func (p *Plugins) granted(ctx context.Context, declared *program.ProviderPlugin, module *Module) (*host.Provider, error) {
	grants, err := p.grants(declared)
	if err != nil {
		return nil, err
	}
	if declared.Path == "" { // no project lists it, where declared has looked
		if err := p.requested(declared, module, grants); err != nil {
			return nil, err
		}
	}
	return module.module.NewProvider(ctx, host.ProviderOptions{
		Name: declared.Name, Grants: grants, Limits: p.limits.of(declared.Name), Instances: p.options.Instances,
		Logger: slog.New(&records{to: p.options.Diagnostics}),
	})
}

// declared returns the provider that the project lists for a package, and its module.
func (p *Plugins) declared(ctx context.Context, name, version string) (*program.ProviderPlugin, *Module, error) {
	declared, err := p.project.ProviderVersion(name, version)
	if err != nil {
		return nil, nil, err
	}
	if declared == nil {
		e := &UnknownError{Package: name, File: p.project.File.Name}
		for _, d := range p.project.Providers {
			e.Known = append(e.Known, d.Name)
		}
		return nil, nil, e
	}
	module, err := p.Module(ctx, declared.Name, p.project.Path(declared.Path))
	if err == nil {
		err = module.serves(declared, version)
	}
	if err != nil {
		return nil, nil, p.problem(providerEntry(declared), err)
	}
	grants, err := p.grants(withoutHeaders(declared))
	if err == nil {
		err = p.requested(declared, module, grants)
	}
	if err != nil {
		return nil, nil, err
	}
	return declared, module, nil
}

// serves reports whether the module is the package that was declared, in a
// version that the declaration and the caller accept.
func (m *Module) serves(declared *program.ProviderPlugin, wanted string) error {
	if world := m.Info().World; world != canon.WorldProvider {
		return &host.WorldError{Is: world, Wanted: canon.WorldProvider}
	}
	if m.Name != declared.Name {
		return fmt.Errorf("its path %s holds the provider of the package %q: correct the name or the path", declared.Path, m.Name)
	}
	if declared.Version != "" && !sameVersion(declared.Version, m.Version) {
		return fmt.Errorf("the project asks for version %s, and %s holds version %s", declared.Version, declared.Path, m.Version)
	}
	if wanted != "" && !program.Compatible(wanted, m.Version) {
		return fmt.Errorf("version %s is wanted, and %s holds version %s, which is not compatible with it", wanted, declared.Path, m.Version)
	}
	return nil
}

func sameVersion(a, b string) bool {
	x, errA := semver.ParseTolerant(a)
	y, errB := semver.ParseTolerant(b)
	return errA == nil && errB == nil && x.EQ(y)
}
