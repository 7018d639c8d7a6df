package plugins

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/lockfile"
	"github.com/husk-dev/husk/internal/registry"
)

// The variables that say how modules are fetched.
const (
	offlineVariable = "HUSK_OFFLINE"
	vendorVariable  = "HUSK_VENDOR_DIR"
	mirrorsVariable = "HUSK_REGISTRY_MIRRORS"
)

// IsSet reports whether an environment variable is neither empty nor a word for no.
func IsSet(variable string) bool {
	text := os.Getenv(variable)
	set, err := strconv.ParseBool(text)
	return text != "" && (err != nil || set)
}

// fetched returns the directory of modules that were fetched, empty for none.
func (p Places) fetched() string { return p.below("fetched") }

// Registry returns the client that fetches the modules of the project's sources. progress, if it is not nil, is called
// while it does.
func (p *Plugins) Registry(progress func(registry.Progress)) (*registry.Client, error) {
	o := registry.Options{
		Cache: p.options.Places.fetched(), Offline: p.options.Offline || IsSet(offlineVariable), MaxSize: int64(p.config.ModuleSize()),
		Digest: p.host.Digest, Credential: registry.DockerCredentials(), Progress: progress,
	}
	var err error
	if o.Mirrors, err = registry.ParseMirrors(os.Getenv(mirrorsVariable)); err != nil {
		return nil, fmt.Errorf("%s: %w", mirrorsVariable, err)
	}
	vendored, err := absolute(os.Getenv(vendorVariable))
	if err != nil {
		return nil, err
	}
	if vendored != "" {
		o.Layouts = append(o.Layouts, vendored)
	}
	if p.project != nil && p.project.Vendor != "" {
		o.Layouts = append(o.Layouts, p.project.Vendor)
	}
	return registry.New(o), nil
}

// Source returns the source of a provider that the project lists with one.
func (p *Plugins) Source(declared *program.ProviderPlugin) (registry.Source, error) {
	s, err := registry.ParseSource(declared.Source)
	if err != nil {
		return s, p.problem(providerEntry(declared), err)
	}
	return s.At(p.project.Dir), nil
}

// Locate returns the path of the module of a provider that the project lists. One with a source is the module that
// husk.lock pins, which is fetched if it is not there.
func (p *Plugins) Locate(ctx context.Context, declared *program.ProviderPlugin) (path string, err error) {
	path, _, err = p.locate(ctx, declared)
	return path, err
}

// locate is Locate, with the locked module; nil for a path.
func (p *Plugins) locate(ctx context.Context, declared *program.ProviderPlugin) (string, *lockfile.Provider, error) {
	if declared.Source == "" {
		return p.project.Path(declared.Path), nil, nil
	}
	from, err := p.Source(declared)
	if err != nil {
		return "", nil, err
	}
	lock, err := lockfile.Load(p.project)
	if err != nil {
		return "", nil, err
	}
	locked, err := lock.Of(declared)
	if err != nil {
		return "", nil, err
	}
	if locked == nil {
		d := p.project.File.Errorf(declared.Position, "the provider %q is not installed: %s", declared.Name, lock.Why(declared))
		return "", nil, source.Diagnostics{d.With("run husk install, which fetches it and pins it in husk.lock")}
	}
	client, err := p.registry()
	if err != nil {
		return "", nil, err
	}
	over := p.progress.begin(declared.Name, fetching)
	path, err := client.Fetch(ctx, from, registry.Release{Version: locked.Version, Digest: locked.Digest, Size: locked.Size, Manifest: locked.Manifest})
	over()
	if err != nil {
		return "", nil, p.problem(providerEntry(declared), Moved(ctx, client, from, locked, err))
	}
	return path, locked, nil
}

// MovedError says that a source has another module under a locked version.
type MovedError struct {
	Source, Version string
	// Locked and Is are digests of modules.
	Locked, Is string
}

func (e *MovedError) Error() string {
	return fmt.Sprintf("version %s of %s is another module than husk.lock pins: it is %s, and locked is %s\n"+
		"whoever publishes it has replaced it, or somebody in between: a version must not change. If you trust the new one, remove the entry from husk.lock and run husk install",
		e.Version, e.Source, e.Is, e.Locked)
}

// Moved returns the error of fetching a locked module, as a [*MovedError] if the source has another module now.
func Moved(ctx context.Context, client *registry.Client, from registry.Source, locked *lockfile.Provider, err error) error {
	if changed, ok := errors.AsType[*registry.DigestError](err); ok && from.Kind == registry.Web {
		return &MovedError{locked.Source, locked.Version, locked.Digest, changed.Got}
	}
	if !errors.Is(err, registry.ErrNotFound) {
		return err
	}
	now, found := client.Find(ctx, registry.Reference{Source: from, Tag: registry.Tag(locked.Version)})
	if from.HasVersions() && found == nil && now.Digest != locked.Digest {
		return &MovedError{locked.Source, locked.Version, locked.Digest, now.Digest}
	}
	return err
}

// listedModule loads the module of a provider that the project lists.
func (p *Plugins) listedModule(ctx context.Context, declared *program.ProviderPlugin) (*Module, error) {
	path, locked, err := p.locate(ctx, declared)
	if err != nil {
		return nil, err
	}
	if locked == nil {
		return p.Module(ctx, declared.Name, path)
	}
	m, err := p.moduleOf(ctx, declared.Name, path, locked.Digest)
	if err == nil && m.Version != locked.Version {
		err = fmt.Errorf("husk.lock has version %s of it, and the module is version %s: run husk install", locked.Version, m.Version)
	}
	return m, err
}

// Identity returns name, version, and requests of a module in a file. One that says so itself is not run; another makes
// its handshake without any grant.
func (p *Plugins) Identity(ctx context.Context, name, path string) (host.Manifest, error) {
	wasm, err := os.ReadFile(path)
	if err != nil {
		return host.Manifest{}, err
	}
	info, err := host.Inspect(wasm, p.config)
	if err != nil {
		return host.Manifest{}, p.config.Refused(filepath.Base(path), err)
	}
	if info.Manifest != nil {
		return *info.Manifest, nil
	}
	m, err := p.Module(ctx, name, path)
	if err != nil {
		return host.Manifest{}, err
	}
	return m.Manifest, nil
}
