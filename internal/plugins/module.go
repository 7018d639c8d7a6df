package plugins

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/engine/projectroot"
	guestsdk "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/build/langbuild"
)

// Module is a loaded module that has completed a handshake.
type Module struct {
	host.Manifest
	// Rules are the rules of a policy pack.
	Rules []abi.PolicyRule

	module *host.Module
	wasm   func() ([]byte, error)
	config host.Config
}

// Info describes the module without running it.
func (m *Module) Info() host.Info { return m.module.Info }

// Bytes returns the module's file.
func (m *Module) Bytes() ([]byte, error) { return m.wasm() }

// BaseImage describes the snapshot from which instances without variables and directories start.
func (m *Module) BaseImage(ctx context.Context) (host.BaseImage, error) {
	return m.module.BaseImage(ctx)
}

// Inspect describes the contents of the module.
func (m *Module) Inspect() (host.Info, error) {
	wasm, err := m.wasm()
	if err != nil {
		return host.Info{}, err
	}
	return host.Inspect(wasm, m.config)
}

// Module loads the module at a path, a .wasm file or a directory of source, once for all callers. name
// is the provider's, for messages, and may be empty. The error is os.ErrNotExist if there is no such path.
func (p *Plugins) Module(ctx context.Context, name, path string) (*Module, error) {
	return p.PinnedModule(ctx, name, path, "")
}

// PinnedModule is Module for a file whose digest is known. It fails before the module runs if the file has another one.
func (p *Plugins) PinnedModule(ctx context.Context, name, path, digest string) (*Module, error) {
	return p.moduleOf(ctx, name, path, digest, p.pathOrigin(path))
}

// moduleOf is Module for a module with another origin than a path. It fails before the module runs if digest is not empty and
// differs.
func (p *Plugins) moduleOf(ctx context.Context, name, path, digest string, from origin) (*Module, error) {
	if err := p.admitFile(ctx, path, digest, from); err != nil {
		return nil, err
	}
	p.mu.Lock()
	l, known := p.modules[path]
	if !known {
		l = &loading{done: make(chan struct{})}
		p.modules[path] = l
	}
	p.mu.Unlock()
	if known {
		return l.wait(p.untilStopped(ctx))
	}
	ctx, end := p.untilStopped(ctx)
	defer end()
	if l.module, l.err = p.load(ctx, name, path, digest); l.err != nil { // it must end before the host is closed
		p.mu.Lock()
		delete(p.modules, path) // the next call tries again
		p.mu.Unlock()
	}
	close(l.done)
	return l.module, l.err
}

// loading is a module that is being prepared; done is closed once the rest is set.
type loading struct {
	done   chan struct{}
	module *Module
	err    error
}

// wait waits for a module until the context ends. One that is there is returned in any case.
func (l *loading) wait(ctx context.Context, end func()) (*Module, error) {
	defer end()
	select {
	case <-l.done:
		return l.module, l.err
	default:
	}
	select {
	case <-l.done:
		return l.module, l.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// untilStopped returns a context that also ends when the run is stopped: nothing that is prepared then is needed.
func (p *Plugins) untilStopped(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unbind := context.AfterFunc(p.stopped, func() { cancel(context.Cause(p.stopped)) })
	return ctx, func() {
		unbind()
		cancel(nil)
	}
}

func (p *Plugins) load(ctx context.Context, name, path, digest string) (*Module, error) {
	root := p.rootOf(path)
	info, err := root.Stat(path)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = path
	}
	select {
	case p.preparing <- struct{}{}:
		defer func() { <-p.preparing }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	var module *host.Module
	wasm := func() ([]byte, error) { return root.ReadFile(path, int64(p.config.ModuleSize())) }
	switch {
	case info.IsDir():
		if err := p.refuseUnsandboxed("it is built from source"); err != nil {
			return nil, err
		}
		var built []byte
		built, module, err = p.build(ctx, name, path, p.pathOrigin(path), p.builder.Build)
		wasm = func() ([]byte, error) { return built, nil }
	case !info.Mode().IsRegular():
		err = projectroot.ErrNotRegular // which the host would wait for
	case root.Trusted():
		module, err = p.host.Load(p.progress.loading(ctx, name), path)
	default: // the host is given no path that a stranger can lead elsewhere meanwhile
		var content []byte
		if content, err = wasm(); err == nil {
			module, err = p.host.LoadBytes(p.progress.loading(ctx, name), content)
		}
		if refused, ok := errors.AsType[*host.LoadError](err); ok {
			refused.Path = path
		}
	}
	if err != nil {
		return nil, err
	}
	if got := module.Info.Digest; digest != "" && got != digest {
		return nil, changedError(path, got)
	}
	m, err := identify(ctx, module, path)
	if err == nil {
		m.wasm, m.config = wasm, p.config
	}
	return m, err
}

// build builds the provider in a directory with a builder's method, and loads the result.
func (p *Plugins) build(ctx context.Context, name, dir string, from origin,
	build func(ctx context.Context, dir string) ([]byte, error),
) ([]byte, *host.Module, error) {
	if p.builder.Dir == "" {
		return nil, nil, errNoCache
	}
	if l := langbuild.Of(dir); l != nil {
		switch {
		case from.from != nil: // a repository in the network, of which nothing runs outside of the sandbox
			return nil, nil, fmt.Errorf("the source is in %s, whose tools run code of it with your rights, and only source in Go is built of a repository: "+
				"check it out, read it, and name its directory, or the .wasm file that husk provider build makes of it", l.Name)
		case p.options.Untrusted || p.untrusted():
			return nil, nil, fmt.Errorf("the source in %s is in %s, whose tools run code of it with your rights, and it is not trusted: "+
				"name a .wasm file, or build it without --untrusted-project once you have read it", dir, l.Name)
		}
		if err := p.admission.refuseNative("the source in " + dir + " is in " + l.Name + ", and its tools run code of it"); err != nil {
			return nil, nil, err
		}
		build = func(ctx context.Context, dir string) ([]byte, error) {
			return l.Build(ctx, langbuild.Source{Dir: dir, Root: p.sourceRoot(dir), SDK: guestsdk.In(l.Name)})
		}
	} else if err := langbuild.Refused(dir); err != nil {
		return nil, nil, err
	}
	over := p.progress.begin(ctx, name, building)
	wasm, err := build(ctx, dir)
	over()
	if err != nil {
		return nil, nil, err
	}
	if err := p.admitBuilt(ctx, from, wasm); err != nil {
		return nil, nil, err
	}
	module, err := p.host.LoadBytes(p.progress.loading(ctx, name), wasm)
	var refused *host.LoadError
	if errors.As(err, &refused) {
		refused.Path = dir
	}
	return wasm, module, err
}

// sourceRoot returns the directory up to which packages and tools of the source in dir are looked for: the project's, or else the one in
// which a user names the source, if the source is there.
func (p *Plugins) sourceRoot(dir string) string {
	roots := []string{"."}
	if p.project != nil {
		roots = []string{p.project.Dir, "."}
	}
	for _, root := range roots {
		whole, err := filepath.Abs(root)
		source, sourceErr := filepath.Abs(dir)
		if below, relErr := filepath.Rel(whole, source); errors.Join(err, sourceErr, relErr) == nil && filepath.IsLocal(below) {
			return whole
		}
	}
	return dir
}

// identify makes the handshake with a module, without any grant.
func identify(ctx context.Context, module *host.Module, path string) (*Module, error) {
	m := &Module{module: module}
	ask := m.askProvider
	switch module.World {
	case canon.WorldPolicy:
		ask = m.askPolicy
	case canon.WorldProgram: // it has no name, and says nothing of itself
		ask = func(context.Context) error { return nil }
	}
	if err := ask(ctx); err != nil {
		return nil, fmt.Errorf("reading name and version of the module %s: %w", path, err)
	}
	if manifest := m.Info().Manifest; manifest != nil {
		m.Requests = manifest.Requests
	}
	return m, nil
}

func (m *Module) askProvider(ctx context.Context) error {
	return m.ungranted(ctx, func(provider abi.Provider) error {
		resp, err := provider.Handshake(ctx, abi.HandshakeRequest{Engine: "husk"})
		if err != nil {
			return err
		}
		m.Name, m.Version, m.SDK = resp.Name, resp.Version, resp.SDK
		for _, r := range resp.Requests {
			m.Requests = append(m.Requests, host.CapabilityRequest(r))
		}
		return nil
	})
}

func (m *Module) askPolicy(ctx context.Context) error {
	policy, err := m.module.NewPolicy(ctx, host.PolicyOptions{Instances: 1})
	if err != nil {
		return err
	}
	resp, err := policy.Handshake(ctx, abi.PolicyHandshakeRequest{Engine: "husk"})
	m.Name, m.Version, m.SDK, m.Rules = resp.Name, resp.Version, resp.SDK, resp.Rules
	return errors.Join(err, policy.Close())
}

// ungranted calls do with a provider that has no grants and is not configured.
func (m *Module) ungranted(ctx context.Context, do func(abi.Provider) error) error {
	provider, err := m.module.NewProvider(ctx, host.ProviderOptions{Name: m.Name, Instances: 1})
	if err != nil {
		return err
	}
	return errors.Join(do(provider), provider.Close())
}
