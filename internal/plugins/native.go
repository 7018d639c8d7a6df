package plugins

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/build/nativewire"
)

// Native is a provider that runs as a native process, without sandbox and grants, in place of the module of the directory that
// the project lists.
type Native struct {
	Dir string
	// Start returns the client of the process, which it starts unless it runs. It may be called concurrently.
	Start func() (*nativewire.Client, error)
}

// errNativeRecords is the error for a deployment with a native provider: its state would name a module that did not make it.
var errNativeRecords = errors.New("a native provider only serves previews: a deployment records which module made a resource, and none did")

// native returns the native provider of a package, and nil if it has none.
func (p *Plugins) native(ctx context.Context, name, version string) (abi.Provider, error) {
	if p.options.Native == nil {
		return nil, nil
	}
	declared, err := p.project.ProviderVersion(name, version)
	if err != nil || declared == nil || declared.Path == "" || !p.isDir(declared.Path, p.options.Native.Dir) {
		return nil, nil // the module of the provider has the error
	}
	if p.performing.Load() {
		return nil, errNativeRecords
	}
	if err := p.permitNative("--native runs it as a process"); err != nil {
		return nil, p.problem(providerEntry(declared), err)
	}
	store, err := p.store(declared.Name)
	if err != nil {
		return nil, err
	}
	client, err := p.options.Native.Start()
	if err != nil {
		return nil, err
	}
	opened := client.Open(&nativeLog{declared.Name, p.options.Events}, store)
	is, err := opened.Handshake(ctx, abi.HandshakeRequest{Engine: "husk"})
	if err == nil {
		err = isDeclared(declared, version, is.Name, is.Version)
	}
	if err != nil {
		return nil, p.problem(providerEntry(declared), err)
	}
	return &nativeProvider{opened, p}, nil
}

// isDir reports whether what the project names is a directory that the user of the command has named.
func (p *Plugins) isDir(named, dir string) bool {
	x, errA := p.project.Root.Stat(named)
	y, errB := os.Stat(dir)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// nativeProvider is a provider of a process that all resources share, and with it what the author's code keeps.
type nativeProvider struct {
	abi.Provider
	plugins *Plugins
}

// Configure refuses a second configuration.
func (n *nativeProvider) Configure(ctx context.Context, request abi.ConfigureRequest) error {
	n.plugins.mu.Lock()
	other := n.plugins.nativeConfig != nil && !n.plugins.nativeConfig.Equal(request.Inputs)
	n.plugins.nativeConfig = &request.Inputs
	n.plugins.mu.Unlock()
	if other {
		return fmt.Errorf("%s has another configuration in this project, and a native provider is one process with one configuration: "+
			"preview it without --native", request.URN)
	}
	return n.Provider.Configure(ctx, request)
}

// nativeLog shows what a native provider logs.
type nativeLog struct {
	provider string
	to       func(engine.Event)
}

// Write implements [abi.Log].
func (l *nativeLog) Write(_ context.Context, e abi.LogEntry) {
	level := map[abi.LogSeverity]slog.Level{
		abi.LogSeverityDebug: slog.LevelDebug, abi.LogSeverityWarning: slog.LevelWarn, abi.LogSeverityError: slog.LevelError,
	}[e.Severity]
	l.to(engine.Diagnostic{Severity: severity(level), Message: e.Message, URN: e.URN, Provider: l.provider, Ephemeral: e.Ephemeral, Guest: true})
}

// A project may list a plugin of Pulumi as a provider, with native: true. It is a process of this machine with
// the rights of the user: no sandbox, no grants, no limits, and no digest in the state. Only the project file
// says so, and a trust policy refuses it unless the policy allows native plugins.

// NativePlugin is a running native plugin. Close ends it.
type NativePlugin interface {
	abi.Provider
	io.Closer
}

// NativeOptions select the native plugin, and the receivers of its messages.
type NativeOptions struct {
	// Name is the package, and Program the executable.
	Name, Program string
	// Dir is where it runs.
	Dir string
	// Source is a program in Node.js or Python that runs in place of the executable, nil for none.
	Source *program.Project
	// EnvVarMappings have it see the variables of its keys under the names that are their values, beside all others.
	EnvVarMappings map[string]string
	// Log gets its messages, and its output with the severity debug. It may be called concurrently.
	Log func(abi.LogEntry)
	// WantedVersion returns the version of a package that counts, given the one that a component's SDK wants; nil keeps
	// that.
	WantedVersion func(pkg, wanted string) string
}

// errNoNatives is a native plugin in a process that was started without what runs them.
var errNoNatives = errors.New("it is a native plugin, which this process cannot run: it was started for a project without one; start it anew")

// errNativeListed is the error of commands that need a module.
func errNativeListed(declared *program.ProviderPlugin) error {
	what := whatRuns(declared.Program)
	if declared.Program == nil {
		what += " (native: true)"
	}
	return errors.New(what + ", and this needs a module: a native plugin only runs in preview, up, refresh, and destroy")
}

// refuseNative returns the error for a native plugin if a trust policy does not allow it.
func (a *admission) refuseNative(what string) error {
	if a == nil {
		return nil
	}
	for _, policy := range a.policies {
		if !policy.native {
			return fmt.Errorf("%s, which runs without a sandbox, and the trust policy of %s does not allow that: "+
				"use a module, or add native: true to the policy", what, policy.name)
		}
	}
	return nil
}

// permitNative returns an error for what would run without a sandbox, if the project is not trusted or a policy does not allow it.
func (p *Plugins) permitNative(what string) error {
	return errors.Join(p.admission.refuseNative(what), p.refuseUnsandboxed(what))
}

// nativePlugin starts the native plugin that the project lists for a package, and returns nil if it lists none.
func (p *Plugins) nativePlugin(ctx context.Context, name, version string, mappings engine.EnvVarMappings) (NativePlugin, error) {
	declared, err := p.project.ProviderVersion(name, version)
	if err != nil || declared == nil || !declared.Native {
		return nil, nil // the module of the provider has the error
	}
	if !p.options.RunNative {
		return nil, p.problem(providerEntry(declared), errNativeListed(declared))
	}
	provider, err := p.startNative(ctx, declared, version, mappings)
	if err != nil {
		return nil, p.problem(providerEntry(declared), err)
	}
	return provider, nil
}

// nativePluginSchema returns the schema of a package whose provider is a native plugin, and whether it is one.
func (p *Plugins) nativePluginSchema(ctx context.Context, pkg program.Package) (text []byte, listed bool, err error) {
	plugin, err := p.nativePlugin(ctx, pkg.Source, pkg.Version, "")
	if plugin == nil || err != nil {
		return nil, err != nil, err
	}
	_, text, err = parameterize(ctx, plugin, pkg)
	return text, true, errors.Join(err, p.endNative(plugin))
}

func (p *Plugins) startNative(ctx context.Context, declared *program.ProviderPlugin, version string, mappings engine.EnvVarMappings) (NativePlugin, error) {
	what := whatRuns(declared.Program)
	if err := p.permitNative(what); err != nil {
		return nil, err
	}
	if p.options.StartNative == nil {
		return nil, errNoNatives
	}
	log := &nativeLog{declared.Name, p.options.Events}
	started, err := p.options.StartNative(ctx, NativeOptions{
		Name: declared.Name, Program: p.project.Path(declared.Path), Dir: p.project.Dir, Source: declared.Program,
		Log: func(e abi.LogEntry) { log.Write(ctx, e) }, WantedVersion: p.project.WantedVersion,
		EnvVarMappings: mappings.Map(),
	})
	if err != nil {
		return nil, err
	}
	is, err := started.Handshake(ctx, abi.HandshakeRequest{Engine: "husk", Features: abi.AllFeatures})
	if err == nil && declared.Program != nil { // which may call itself otherwise than the project does
		is.Name, err = nameInSchema(ctx, started)
	}
	if err == nil {
		err = isDeclared(declared, version, is.Name, is.Version)
	}
	if err != nil {
		return nil, errors.Join(err, started.Close())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.natives = append(p.natives, started)
	p.tellUnconfined(declared.Name, what)
	return started, nil
}

// nameInSchema returns the package that the schema of a provider is of.
func nameInSchema(ctx context.Context, provider abi.Provider) (string, error) {
	response, err := provider.GetSchema(ctx, abi.GetSchemaRequest{})
	if err != nil {
		return "", err
	}
	pkg, err := parseSchema([]byte(response.Schema), nil)
	if err != nil {
		return "", err
	}
	return pkg.Name, nil
}

// tellUnconfined says once of a provider or policy pack that nothing confines it. p.mu is held.
func (p *Plugins) tellUnconfined(name, what string) {
	if !p.warned[name] {
		p.warned[name] = true
		p.options.Events(engine.Diagnostic{
			Severity: severity(slog.LevelWarn), Provider: name,
			Message: what + ", which runs without a sandbox and with your rights",
		})
	}
}

// whatRuns says what a native plugin is: a program, or an executable if that is nil.
func whatRuns(written *program.Project) string {
	if written != nil {
		return "it is a program for the runtime " + written.Runtime
	}
	return "it is a native plugin"
}

// endNative ends a native plugin before the others.
func (p *Plugins) endNative(plugin NativePlugin) error {
	p.mu.Lock()
	p.natives = slices.DeleteFunc(p.natives, func(other NativePlugin) bool { return other == plugin })
	p.mu.Unlock()
	return plugin.Close()
}

// endNatives ends the native plugins.
func (p *Plugins) endNatives() error {
	p.mu.Lock()
	natives := p.natives
	p.natives = nil
	p.mu.Unlock()
	var errs []error
	for _, n := range natives {
		errs = append(errs, n.Close())
	}
	return errors.Join(errs...)
}

// auditNative returns the audit of a native plugin, which it does not start.
func (p *Plugins) auditNative(declared *program.ProviderPlugin) (*Audited, error) {
	if err := p.admission.refuseNative(whatRuns(declared.Program)); err != nil {
		return nil, p.problem(providerEntry(declared), err)
	}
	a := &Audited{Name: declared.Name, Version: declared.Version, Path: declared.Path, Native: true, Requests: []Request{}, Grants: []Grant{}}
	if declared.Program != nil {
		a.Runtime = declared.Program.Runtime
	}
	return a, nil
}
