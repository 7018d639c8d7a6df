package plugins

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
)

// A project may list a plugin of Pulumi as a provider, with native: true. It is a process of this machine with
// the rights of the user: no sandbox, no grants, no limits, and no digest in the state. Only the project file
// says so, and a trust policy refuses it unless the policy allows native plugins.

// NativePlugin is a running native plugin. Close ends it.
type NativePlugin interface {
	abi.Provider
	io.Closer
}

// NativeOptions say which native plugin starts, and who gets what it says.
type NativeOptions struct {
	// Name is the package, and Program the executable.
	Name, Program string
	// Dir is where it runs.
	Dir string
	// EnvVarMappings have it see the variables of its keys under the names that are their values, beside all others.
	EnvVarMappings map[string]string
	// Log gets its messages, and what it prints with the severity debug. It may be called concurrently.
	Log func(abi.LogEntry)
	// WantedVersion returns the version of a package that counts, given the one that a component's SDK wants; nil keeps
	// that.
	WantedVersion func(pkg, wanted string) string
}

// errNoNatives is a native plugin in a process that was started without what runs them.
var errNoNatives = errors.New("it is a native plugin, which this process cannot run: it was started for a project without one; start it anew")

// errNativeListed is the error of commands that need a module.
var errNativeListed = errors.New("it is a native plugin (native: true), and this needs a module: a native plugin only runs in preview, up, refresh, and destroy")

// refuseNative returns the error for a native plugin that a trust policy does not allow.
func (a *admission) refuseNative() error {
	if a == nil {
		return nil
	}
	for _, policy := range a.policies {
		if !policy.native {
			return fmt.Errorf("it is a native plugin, which runs without a sandbox, and the trust policy of %s does not allow that: "+
				"use a module, or add native: true to the policy", policy.name)
		}
	}
	return nil
}

// nativePlugin starts the native plugin that the project lists for a package, and returns nil if it lists none.
func (p *Plugins) nativePlugin(ctx context.Context, name, version string, mappings engine.EnvVarMappings) (NativePlugin, error) {
	declared, err := p.project.ProviderVersion(name, version)
	if err != nil || declared == nil || !declared.Native {
		return nil, nil // the module of the provider has the error
	}
	if !p.options.RunNative {
		return nil, p.problem(providerEntry(declared), errNativeListed)
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
	if err := errors.Join(p.admission.refuseNative(), p.refuseUnsandboxed("it is a native plugin")); err != nil {
		return nil, err
	}
	if p.options.StartNative == nil {
		return nil, errNoNatives
	}
	log := &nativeLog{declared.Name, p.options.Events}
	started, err := p.options.StartNative(ctx, NativeOptions{
		Name: declared.Name, Program: p.project.Path(declared.Path), Dir: p.project.Dir,
		Log: func(e abi.LogEntry) { log.Write(ctx, e) }, WantedVersion: p.wantedVersion,
		EnvVarMappings: mappings.Map(),
	})
	if err != nil {
		return nil, err
	}
	is, err := started.Handshake(ctx, abi.HandshakeRequest{Engine: "husk", Features: abi.AllFeatures})
	if err == nil {
		err = isDeclared(declared, version, is.Name, is.Version)
	}
	if err != nil {
		return nil, errors.Join(err, started.Close())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.natives = append(p.natives, started)
	if !p.warned[declared.Name] {
		p.warned[declared.Name] = true
		p.options.Events(engine.Diagnostic{
			Severity: severity(slog.LevelWarn), Provider: declared.Name,
			Message: "it is a native plugin, which runs without a sandbox and with your rights",
		})
	}
	return started, nil
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

// auditNative returns what an audit says of a native plugin, which it does not start.
func (p *Plugins) auditNative(declared *program.ProviderPlugin) (*Audited, error) {
	if err := p.admission.refuseNative(); err != nil {
		return nil, p.problem(providerEntry(declared), err)
	}
	return &Audited{Name: declared.Name, Version: declared.Version, Path: declared.Path, Native: true, Requests: []Request{}, Grants: []Grant{}}, nil
}

// wantedVersion returns the version that counts of a package that a component of a native plugin asks for. Where it asks for
// the very version that the project lists, it shares the default provider of a program that does so, as with Pulumi.
func (p *Plugins) wantedVersion(name, wanted string) string {
	if declared := p.project.Provider(name); declared != nil && declared.Version == wanted {
		return wanted
	}
	return p.project.WantedVersion(name, wanted)
}
