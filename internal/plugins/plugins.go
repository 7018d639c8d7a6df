// Package plugins opens the providers and policy packs that a project lists: it builds Go source, loads
// modules into one host, and gives each provider the grants of the project. It is the engine's loader,
// and gives YAML programs the schemas of packages.
package plugins

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/blang/semver/v4"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/program/yamlprogram"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/kvstore"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/build/gobuild"
	"github.com/husk-dev/husk/internal/registry"
)

// Options say how providers are loaded.
type Options struct {
	// Places are the directories for modules; see [FindPlaces].
	Places Places
	// Untrusted says that what the command is about is somebody else's, also where it opens no project.
	Untrusted bool
	// Instances bounds the calls that one provider serves at once; 0 is the host's default.
	Instances int
	// Modules is the directory of the modules that made resources, empty for none.
	Modules string
	// Shared keeps these modules for all machines, and Modules has copies; nil if Modules has the only ones.
	Shared backend.Modules
	// Recorded are the digests of modules that the state names, see [Plugins.Used].
	Recorded []string
	// StateModules are the modules that may run because a state names them; nil for none.
	StateModules *StateModules
	// Installed uses the modules that the project lists for all resources.
	Installed bool
	// Interpret runs modules in the interpreter: a new one starts at once, and its calls take some 30 times longer.
	Interpret bool
	// Native stands for the module of a provider in previews, nil for none.
	Native *Native
	// RunNative starts the plugins that the project lists with native: true. Without it, programs are not checked
	// by their schemas: to look at a project must run nothing of it outside the sandbox.
	RunNative bool
	// StartNative starts such a plugin; nil refuses it.
	StartNative func(ctx context.Context, o NativeOptions) (NativePlugin, error)
	// OpenPolicy returns a policy pack that is a program; nil refuses it.
	OpenPolicy func(ctx context.Context, o PolicyOptions) (PolicyProcess, error)
	// Limits override the limits of the project, and of [UntrustedLimits].
	Limits []Limit
	// Grants are granted to providers by name, in addition to the project's. A store among them stands
	// for the provider's own.
	Grants map[string]host.Grants
	// Offline allows no use of the network to fetch modules.
	Offline bool
	// Withheld are files that no grant of a directory above them covers, in addition to the project's; see [host.Grants].
	Withheld []string
	// Runs is set for a run of the project. Without it, the providers of a project that is not trusted have no grants.
	Runs bool
	// Config is the stack's configuration, which grants may refer to. If it is nil, the headers that
	// do are left out.
	Config []abi.ConfigEntry
	// Stores opens the values that a provider stores; nil for memory. Changes before
	// [Plugins.Perform] are discarded.
	Stores func(provider string) (*kvstore.Store, error)
	// Secrets learns the credentials that grants add to requests; nil for nobody.
	Secrets *redact.Secrets
	// Audit receives each use of a capability; nil for nobody. It may be called concurrently.
	Audit func(host.AuditEvent)
	// Learn collects what providers use, for [Plugins.WriteLearned].
	Learn bool
	// Stop, once closed, ends fetching, building, and compiling with [engine.ErrStopped]. Modules that are loaded can be used on.
	Stop <-chan struct{}
	// Events receives logs and output of providers as [engine.Diagnostic], and builds and compilations
	// that take long as [engine.Preparing]; nil for nobody. It may be called concurrently.
	Events func(engine.Event)
}

// Plugins are the providers of one project, safe for concurrent use. Close it after the last use.
type Plugins struct {
	project  *program.Project
	options  Options
	limits   limits
	config   host.Config
	host     *host.Host
	builder  *gobuild.Builder
	progress progress
	// stopped ends with [Options.Stop], and with the plugins; forget has it end.
	stopped context.Context
	forget  context.CancelCauseFunc
	// preparing has an element for each module that is being built or loaded. Its capacity bounds them:
	// the Go command uses all processors for one build, but not all of the time.
	preparing chan struct{}

	learner   *learner   // nil for none
	admission *admission // nil for none
	// registry fetches the modules of sources.
	registry func() (*registry.Client, error)

	performing atomic.Bool // see Perform
	told       atomic.Bool // whether anything went by its being a preview, see Repeat
	kept       atomic.Bool // whether this run has kept a module, see CollectModules

	mu      sync.Mutex
	modules map[string]*loading       // by path
	loaded  []engine.PackageSpec      // by Load, in the preview
	stores  map[string]*kvstore.Store // by provider
	// nativeConfig is the configuration of the native provider, nil before it has one.
	nativeConfig *property.Map
	claims       *claims // nil for none
	// used is the result of Used.
	used []string
	// natives are the plugins that run without a sandbox, and warned has the names in past warnings.
	natives []NativePlugin
	warned  map[string]bool
	// toClose are the policies and the program, which are closed with the plugins.
	toClose []io.Closer
	program abi.Program // nil before it is needed
	users   []user
}

// Open makes the plugins of a project. project may be nil if only [Plugins.Module] is used.
//
// If the project's root is not trusted, somebody else wrote the project file: its grants cover directories of the project and
// hosts of the Internet, no headers with this process's variables, and nothing of it runs or is built outside the sandbox. Its
// limits are [UntrustedLimits], or lower.
func Open(ctx context.Context, project *program.Project, o Options) (*Plugins, error) {
	if o.Events == nil {
		o.Events = func(engine.Event) {}
	}
	p := &Plugins{
		project: project, options: o,
		builder:  &gobuild.Builder{Dir: o.Places.built()},
		progress: o.Events, preparing: make(chan struct{}, max(2, runtime.GOMAXPROCS(0))),
		modules: make(map[string]*loading), stores: make(map[string]*kvstore.Store), warned: make(map[string]bool),
	}
	p.registry = sync.OnceValues(func() (*registry.Client, error) { return p.Registry(nil) })
	var err error
	if p.limits, err = limitsOf(project, o.Limits); err != nil {
		return nil, err
	}
	config := o.Places.configure(host.NewConfig()).WithAudit(o.Audit).WithAdvice(adviceFor(project))
	if o.Interpret {
		config = config.WithInterpreter()
	}
	if o.Learn {
		p.learner = newLearner()
		config = config.WithLearn(p.learner.use)
	}
	if p.admission, err = openAdmission(project); err != nil {
		return nil, err
	}
	if p.admission != nil {
		config = config.WithAdmission(p.admission.known)
	}
	p.config = p.limits.configure(config)
	if p.host, err = host.New(ctx, p.config); err != nil {
		return nil, fmt.Errorf("%w (%s)", err, o.Places.remedy())
	}
	if err := p.host.Uncached(); err != nil {
		p.Diagnose(engine.Diagnostic{Severity: "warning", Message: fmt.Sprintf("modules are compiled each time: %v (%s)", err, o.Places.remedy())})
	}
	p.stopped, p.forget = context.WithCancelCause(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-o.Stop: // never, if there is none
			p.forget(engine.ErrStopped)
		case <-p.stopped.Done():
		}
	}()
	return p, nil
}

// Perform ends the preview and begins the deployment. Its state will name the modules that are loaded from
// now on, so they are kept. Providers store values, beginning with those before the preview.
func (p *Plugins) Perform() {
	p.performing.Store(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.stores)
}

// previews reports whether this is a preview, for what a deployment does otherwise. It is noted for [Plugins.Repeat].
func (p *Plugins) previews() bool {
	p.told.Store(true)
	return !p.performing.Load()
}

// Repeat loads the providers of the preview as the deployment after it does, whose state names them, and calls none. It reports
// whether the deployment need not run: no provider had values to store, and no policy pack was told of the preview.
func (p *Plugins) Repeat(ctx context.Context) bool {
	p.mu.Lock()
	loaded := slices.Clone(p.loaded)
	p.mu.Unlock()
	for _, spec := range loaded {
		provider, err := p.Load(ctx, spec)
		if err != nil || abi.Close(provider) != nil {
			return false // the deployment reports it
		}
	}
	return !p.told.Load()
}

// Diagnose reports a message as providers' messages are reported.
func (p *Plugins) Diagnose(d engine.Diagnostic) { p.options.Events(d) }

// Close ends the policies, the program, the host, and the claims to modules. The state must be saved before.
func (p *Plugins) Close(ctx context.Context) error {
	defer p.forget(nil)
	errs := []error{p.endClaims(), p.endNatives()}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, guest := range p.toClose {
		errs = append(errs, guest.Close())
	}
	return errors.Join(append(errs, p.host.Close(ctx))...)
}

// unknownError is the error for a package for which the project lists no provider.
type unknownError struct{ text string }

func (e unknownError) Error() string        { return e.text }
func (e unknownError) Is(target error) bool { return target == yamlprogram.ErrUnknownPackage }

func (p *Plugins) unknown(name string) error {
	switch name {
	case "pulumi-python":
		return unknownError{`the resource is a dynamic resource of Pulumi's SDK for Python, and husk does not run these: their code is pickled byte code, which only the same version of Python can load, with all rights of the user
write its class as a provider in Python (husk new provider --language python, docs/tutorial-provider-python.md), which runs in a sandbox, or as a dynamic resource of a program for Node.js (docs/pulumi-dynamic.md)`}
	case engine.DynamicPackage:
		return unknownError{fmt.Sprintf("the resource is a dynamic resource of Pulumi's SDK for Node.js (pulumi.dynamic.Resource), and plugins.providers in %s lists no provider for these; add an entry there:\n  - name: %s\n    path: <pulumi-nodejs.wasm, or the directory examples/providers/pulumi-nodejs of husk's source>\nWhat its functions may reach with fetch goes under grants, as docs/pulumi-dynamic.md says.",
			p.project.File.Name, name)}
	}
	var known []string
	for _, d := range p.project.Providers {
		known = append(known, d.Name)
	}
	listed := "lists no providers"
	if len(known) > 0 {
		listed = "lists only " + strings.Join(known, ", ")
	}
	return unknownError{fmt.Sprintf("there is no provider for the package %q%s\nplugins.providers in %s %s; add an entry there:\n  - name: %s\n    path: <a .wasm file, or a directory of source>\nor run husk install with its source, such as oci://registry.example.com/namespace/%[1]s, or with its name if a registry has it",
		name, source.DidYouMean(name, known), p.project.File.Name, listed, name)}
}

// Load implements [engine.Loader].
func (p *Plugins) Load(ctx context.Context, spec engine.PackageSpec) (abi.Provider, error) {
	if !p.performing.Load() {
		p.mu.Lock()
		p.loaded = append(p.loaded, spec)
		p.mu.Unlock()
	}
	if provider, err := p.native(ctx, spec.Name, spec.Version); provider != nil || err != nil {
		if provider != nil && spec.EnvVarMappings != "" {
			return nil, errors.New("envVarMappings: a native provider is one process with one environment: preview it without --native")
		}
		return provider, err
	}
	if spec.Digest != "" {
		provider, err := p.recordedProvider(ctx, spec)
		if err != nil || provider != nil {
			return provider, err
		}
	}
	if plugin, err := p.nativePlugin(ctx, spec.Name, spec.Version, spec.EnvVarMappings); err != nil {
		return nil, err
	} else if plugin != nil {
		return plugin, nil
	}
	declared, module, err := p.declaredProvider(ctx, spec.Name, spec.Version)
	if err != nil {
		return nil, err
	}
	if p.performing.Load() && p.options.Modules != "" {
		p.trust(module)
		if err := p.Keep(module); err != nil {
			return nil, fmt.Errorf("keeping the module of provider %s beside the state: %w", declared.Name, err)
		}
	}
	return engineProvider(p.mappedProvider(ctx, declared, module, spec.EnvVarMappings))
}

// grantedProvider makes a provider for questions about itself, with the grants of the project.
func (p *Plugins) grantedProvider(ctx context.Context, declared *program.ProviderPlugin, module *Module) (*host.Provider, error) {
	grants, err := p.grants(declared)
	if err != nil {
		return nil, err
	}
	return p.providerWith(ctx, declared, module, p.toLook(grants))
}

// mappedProvider makes a provider with the grants of the project, which sees variables under other names. It sees those alone that
// are granted.
func (p *Plugins) mappedProvider(ctx context.Context, declared *program.ProviderPlugin, module *Module, mappings engine.EnvVarMappings) (*host.Provider, error) {
	grants, err := p.grants(declared)
	if err != nil {
		return nil, err
	}
	grants.EnvVarMappings = mappings.Map()
	for _, source := range slices.Sorted(maps.Keys(grants.EnvVarMappings)) {
		if !slices.Contains(grants.Env, source) {
			return nil, fmt.Errorf("envVarMappings: the provider %s is to see the environment variable %s as %s, and is not granted it\n"+
				"grant it in plugins.providers of %s, as in grants: {env: [%[2]s]}", declared.Name, source, grants.EnvVarMappings[source], p.project.File.Name)
		}
	}
	return p.providerWith(ctx, declared, module, grants)
}

func (p *Plugins) providerWith(ctx context.Context, declared *program.ProviderPlugin, module *Module, grants host.Grants) (*host.Provider, error) {
	if declared.Place() == "" { // no project lists it: otherwise, declaredProvider has checked this
		if err := p.checkRequests(declared, module, grants); err != nil {
			return nil, err
		}
	}
	provider, err := module.module.NewProvider(ctx, host.ProviderOptions{
		Name: declared.Name, Grants: grants, Limits: p.limits.of(declared.Name), Instances: p.options.Instances,
		Logger: slog.New(&records{to: p.options.Events}),
	})
	if err == nil {
		p.addUser(user{module: module, stats: provider.Stats})
	}
	return provider, err
}

// declared returns the provider that the project lists for a package, and its module.
func (p *Plugins) declaredProvider(ctx context.Context, name, version string) (*program.ProviderPlugin, *Module, error) {
	declared, err := p.project.ProviderVersion(name, version)
	if err != nil {
		return nil, nil, err
	}
	if declared == nil {
		return nil, nil, p.unknown(name)
	}
	module, err := p.listedModule(ctx, declared)
	if err == nil {
		err = module.serves(declared, version)
	}
	if err != nil {
		return nil, nil, p.problem(providerEntry(declared), err)
	}
	grants, err := p.grants(withoutHeaders(declared))
	if err == nil {
		err = p.checkRequests(declared, module, grants)
	}
	if err != nil {
		return nil, nil, err
	}
	return declared, module, nil
}

// serves returns an error unless the module is the declared package, in a version that the declaration and
// the caller accept.
func (m *Module) serves(declared *program.ProviderPlugin, wanted string) error {
	if world := m.Info().World; world != canon.WorldProvider {
		return &host.WorldError{Is: world, Wanted: canon.WorldProvider}
	}
	return isDeclared(declared, wanted, m.Name, m.Version)
}

// isDeclared is serves for the name and the version of a provider.
func isDeclared(declared *program.ProviderPlugin, wanted, name, version string) error {
	if name != declared.Name {
		what := "path"
		if declared.Source != "" {
			what = "source"
		}
		return fmt.Errorf("its %s %s holds the provider of the package %q: correct the name or the %s", what, declared.Place(), name, what)
	}
	if declared.Source == "" && declared.Version != "" && !sameVersion(declared.Version, version) {
		return fmt.Errorf("the project asks for version %s, and %s holds version %s", declared.Version, declared.Path, version)
	}
	if wanted != "" && !program.Compatible(wanted, version) {
		return fmt.Errorf("version %s is wanted, and %s holds version %s, which is not compatible with it", wanted, declared.Place(), version)
	}
	return nil
}

func sameVersion(a, b string) bool {
	x, errA := semver.ParseTolerant(a)
	y, errB := semver.ParseTolerant(b)
	return errA == nil && errB == nil && x.EQ(y)
}
