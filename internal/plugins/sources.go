package plugins

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/trust"
	"github.com/husk-dev/husk/internal/base/versionrange"
	"github.com/husk-dev/husk/internal/plugins/lockfile"
	"github.com/husk-dev/husk/internal/registry"
)

// The variables that say how modules are fetched.
const (
	offlineVariable = "HUSK_OFFLINE"
	vendorVariable  = "HUSK_VENDOR_DIR"
	mirrorsVariable = "HUSK_REGISTRY_MIRRORS"
	// registriesVariable has further registries for names, separated by commas.
	registriesVariable = "HUSK_REGISTRIES"
	// realmsVariable has the hosts at which registries issue tokens, if these are others.
	realmsVariable = "HUSK_REGISTRY_REALMS"
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
		Seal: sync.OnceValue(WitnessKey),
	}
	var err error
	if o.Mirrors, err = registry.ParseMirrors(os.Getenv(mirrorsVariable)); err != nil {
		return nil, fmt.Errorf("%s: %w", mirrorsVariable, err)
	}
	if o.Realms, err = registry.ParseRealms(os.Getenv(realmsVariable)); err != nil {
		return nil, fmt.Errorf("%s: %w", realmsVariable, err)
	}
	if p.untrusted() {
		r := newReach(o.Mirrors, o.Realms)
		o.Transport, o.Entrusted = r.over, r.covers
	}
	vendored, err := absolute(os.Getenv(vendorVariable))
	if err != nil {
		return nil, err
	}
	if vendored != "" {
		o.Layouts = append(o.Layouts, registry.Directory{Path: vendored, Root: projectroot.New(vendored, projectroot.Trusted), Operator: true})
	}
	if p.project != nil {
		o.Root = p.project.Root
		if p.project.Vendor != "" {
			o.Layouts = append(o.Layouts, registry.Directory{Path: p.project.Vendor, Root: p.project.Root})
		}
	}
	return registry.New(o), nil
}

// Source returns the source of a provider that the project lists with one. locked, if it is not nil, says where a name was
// found.
func (p *Plugins) Source(declared *program.ProviderPlugin, locked *lockfile.Provider) (registry.Source, error) {
	s, err := registry.ParseSource(declared.Source)
	if err == nil && s.Kind == registry.Named && locked != nil {
		if s, err = registry.ParseSource(locked.From); err == nil && s.Kind != registry.OCI {
			err = fmt.Errorf("husk.lock does not say where %s is: remove the entry, and run husk install", declared.Source)
		}
	}
	if err != nil {
		return s, p.problem(providerEntry(declared), err)
	}
	return s.At(p.project.Dir), nil
}

// Registries returns the registries in which names are looked up, the project's first.
func (p *Plugins) Registries() (all []registry.Registry, err error) {
	var texts []string
	if p.project != nil {
		texts = p.project.Registries
	}
	for text := range strings.SplitSeq(os.Getenv(registriesVariable), ",") {
		if strings.TrimSpace(text) != "" {
			texts = append(texts, text)
		}
	}
	for _, text := range texts {
		r, err := registry.ParseRegistry(text)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// Resolve returns the newest release of a source in a range, and where it is: a name is looked up in the registries, and the
// first that has it counts.
func (p *Plugins) Resolve(ctx context.Context, client *registry.Client, from registry.Source, asked versionrange.Range) (registry.Source, registry.Release, error) {
	if from.Kind != registry.Named {
		release, err := client.Resolve(ctx, from, asked)
		return from, release, err
	}
	all, err := p.Registries()
	if err != nil {
		return from, registry.Release{}, err
	}
	if len(all) == 0 {
		return from, registry.Release{}, fmt.Errorf("%s is a name, and there is no registry to look it up in\n"+
			"list one under plugins.registries, such as oci://registry.example.com/acme, or in %s, or write the whole source", from, registriesVariable)
	}
	var asking []string
	for _, r := range all {
		at := r.Source(from)
		release, err := client.Resolve(ctx, at, asked)
		if !errors.Is(err, registry.ErrNotFound) {
			return at, release, err
		}
		asking = append(asking, r.String())
	}
	return from, registry.Release{}, fmt.Errorf("none of the registries has %s (%s): %w", from, strings.Join(asking, ", "), registry.ErrNotFound)
}

// Locate returns the path of the module of a provider that the project lists. One with a source is the module that
// husk.lock pins, which is fetched if it is not there.
func (p *Plugins) Locate(ctx context.Context, declared *program.ProviderPlugin) (path string, err error) {
	path, _, err = p.locate(ctx, declared)
	return path, err
}

// locate is Locate, with the locked module; nil for a path.
func (p *Plugins) locate(ctx context.Context, declared *program.ProviderPlugin) (string, *lockfile.Provider, error) {
	if declared.Native {
		return "", nil, errNativeListed(declared)
	}
	if declared.Source == "" {
		return p.project.Path(declared.Path), nil, nil
	}
	if _, err := p.Source(declared, nil); err != nil {
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
	from, err := p.Source(declared, locked)
	if err != nil {
		return "", nil, err
	}
	client, err := p.registry()
	if err != nil {
		return "", nil, err
	}
	fetchCtx, end := p.untilStopped(ctx)
	moved, over := p.progress.receiving(fetchCtx, declared.Name, fetching)
	path, err := p.Fetch(registry.OnProgress(fetchCtx, moved), client, from, locked)
	over()
	end()
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
	from, err := p.Source(declared, locked)
	if err != nil {
		return nil, err
	}
	m, err := p.moduleOf(ctx, declared.Name, path, locked.Digest, fetchedOrigin(declared, from, locked.Manifest, path))
	if err == nil && m.Version != locked.Version {
		err = fmt.Errorf("husk.lock has version %s of it, and the module is version %s: run husk install", locked.Version, m.Version)
	}
	return m, err
}

// Admit asks the trust policies about the fetched module of a provider. It returns the signer, the zero value if no policy asks
// for signatures.
func (p *Plugins) Admit(ctx context.Context, declared *program.ProviderPlugin, from registry.Source, r registry.Release, path string) (trust.Signer, error) {
	return p.admit(ctx, fetchedOrigin(declared, from, r.Manifest, path), r.Digest)
}

func fetchedOrigin(declared *program.ProviderPlugin, from registry.Source, manifest, path string) origin {
	text := declared.Source
	if from.Kind == registry.OCI {
		text = from.String() // a name is where it was found
	}
	return origin{source: text, from: &from, manifest: manifest, path: path}
}

// Identity returns name, version, and requests of a module that was fetched and admitted. One that says so itself is not
// run; another makes its handshake without any grant.
func (p *Plugins) Identity(ctx context.Context, declared *program.ProviderPlugin, from registry.Source, manifest, path string) (host.Manifest, error) {
	return p.identity(ctx, declared.Name, path, fetchedOrigin(declared, from, manifest, path))
}

func (p *Plugins) identity(ctx context.Context, name, path string, from origin) (host.Manifest, error) {
	wasm, err := p.rootOf(path).ReadFile(path, int64(p.config.ModuleSize()))
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
	m, err := p.moduleOf(ctx, name, path, info.Digest, from)
	if err != nil {
		return host.Manifest{}, err
	}
	return m.Manifest, nil
}
