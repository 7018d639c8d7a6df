package plugins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/atomicfile"
)

// The modules that resources were made with are kept by digest in a directory beside the state. So the
// module that made a resource can refresh and delete it after the provider's source or file has changed.

// DigestPrefix begins the digests of modules.
const DigestPrefix = "sha256:"

const moduleSuffix = ".wasm"

// sumOf returns the hexadecimal digits of a digest, ok is false for other text.
func sumOf(digest string) (sum string, ok bool) { return backend.SumOf(digest) }

// moduleFile returns the path of a module. The digest, which comes from a state, is checked first.
func moduleFile(dir, digest string) (string, error) {
	sum, ok := sumOf(digest)
	if !ok {
		return "", fmt.Errorf("the state names a module by %q, which is not a digest: it must be sha256: and 64 hexadecimal digits", digest)
	}
	return filepath.Join(dir, sum+moduleSuffix), nil
}

// HasModule reports whether a directory has a file for the module, without reading it.
func HasModule(dir, digest string) bool {
	file, err := moduleFile(dir, digest)
	if err == nil {
		_, err = os.Stat(file)
	}
	return err == nil
}

// hasModule reports whether a module is kept, and copies it to the directory of modules from where all
// machines keep them.
func (p *Plugins) hasModule(ctx context.Context, digest string) (bool, error) {
	if p.options.Shared == nil || HasModule(p.options.Modules, digest) {
		return HasModule(p.options.Modules, digest), nil
	}
	if _, err := moduleFile(p.options.Modules, digest); err != nil {
		return false, nil // the caller reports the mistake in the name
	}
	content, err := p.options.Shared.Get(ctx, digest)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		if sum := sha256.Sum256(content); DigestPrefix+hex.EncodeToString(sum[:]) != digest {
			err = errors.New("it is not the module of this digest: restore it, or run again with --installed")
		}
	}
	if err != nil {
		return false, fmt.Errorf("getting the kept module %s: %w", digest, err)
	}
	unlock, err := lockModules(p.options.Modules)
	if err != nil {
		return false, err
	}
	defer unlock()
	return true, p.writeModule(digest, content)
}

// writeModule writes the file of a module. The caller holds the lock of the modules.
func (p *Plugins) writeModule(digest string, content []byte) error {
	file, err := moduleFile(p.options.Modules, digest)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(file, content, 0o600); err != nil {
		return err
	}
	return atomicfile.SyncDir(p.options.Modules)
}

// Keep keeps a module beside the state until the plugins are closed, and then while a state names it.
func (p *Plugins) Keep(m *Module) error {
	digest := m.Info().Digest
	if err := p.keep(digest, m.Info().Size, m.wasm); err != nil || p.options.Shared == nil {
		return err
	}
	if !slices.Contains(p.options.Recorded, digest) {
		return p.options.Shared.Put(context.Background(), digest, m.wasm)
	}
	// Nobody removes it meanwhile, because the state names it.
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.used, digest) {
		p.used = append(p.used, digest)
	}
	return nil
}

// Used returns the digests of modules that are in use, and that the state named when the plugins were opened. The end of the run
// passes them to Shared, so that they stay.
func (p *Plugins) Used() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.used)
}

func (p *Plugins) keep(digest string, size int, wasm func() ([]byte, error)) error {
	file, err := moduleFile(p.options.Modules, digest)
	if err != nil {
		return err
	}
	unlock, err := lockModules(p.options.Modules)
	if err != nil {
		return err
	}
	defer unlock()
	if err := p.claim(digest); err != nil {
		return err
	}
	if p.isWhole(file, digest, size) {
		return nil
	}
	p.kept.Store(true)
	content, err := wasm()
	if err != nil {
		return err
	}
	return p.writeModule(digest, content)
}

// KeepOn is Keep for a module that is kept already. It reports whether there is one.
func (p *Plugins) KeepOn(ctx context.Context, digest string) (bool, error) {
	if kept, err := p.hasModule(ctx, digest); err != nil || !kept {
		return false, err
	}
	unlock, err := lockModules(p.options.Modules)
	if err != nil {
		return false, err
	}
	defer unlock()
	if !HasModule(p.options.Modules, digest) {
		return false, nil
	}
	return true, p.claim(digest)
}

// isWhole reports whether a file has the module that was written to it.
func (p *Plugins) isWhole(file, digest string, size int) bool {
	info, err := os.Stat(file)
	if err != nil || info.Size() != int64(size) {
		return false
	}
	if p.options.Places.Precompiled != "" {
		return true // without a cache of digests, hashing takes long on small machines
	}
	is, err := p.host.Digest(file)
	return err == nil && is == digest
}

// claim protects a module from other runs that collect modules. The caller holds the lock of the modules.
func (p *Plugins) claim(digest string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.claims == nil {
		claims, err := newClaims(p.options.Modules)
		if err != nil {
			return err
		}
		p.claims = claims
	}
	return p.claims.add(digest)
}

// endClaims ends the claims. From here on, states name the modules that this run needs.
func (p *Plugins) endClaims() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	claims := p.claims
	p.claims = nil
	return claims.end()
}

// CollectModules removes kept modules that no state names, if this run has kept another. inUse returns the digests that all
// states name, including this run's. Other runs read no state but their own: what a destroy leaves is removed with the stack, or
// by the next run that keeps a module.
func (p *Plugins) CollectModules(inUse func() (map[string]bool, error)) error {
	if !p.kept.Load() {
		return nil
	}
	if err := p.endClaims(); err != nil {
		return err
	}
	if p.options.Shared != nil {
		return nil // no run waits until the states of all stacks have been fetched
	}
	return CollectModules(p.options.Modules, inUse)
}

// CollectModules removes the modules in a directory that no state names and no run claims.
func CollectModules(dir string, inUse func() (map[string]bool, error)) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unlock, err := lockModules(dir)
	if err != nil {
		return err
	}
	defer unlock()
	// Claims are read first: if a run ends in between, its state names its modules.
	claimed, err := claimedIn(dir)
	if err != nil {
		return err
	}
	named, err := inUse()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	errs := []error{err}
	for _, e := range entries {
		sum, ok := strings.CutSuffix(e.Name(), moduleSuffix)
		if digest := DigestPrefix + sum; ok && !claimed[digest] && !named[digest] {
			errs = append(errs, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// lockModules excludes other runs that keep or collect modules.
func lockModules(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return lockedfile.MutexAt(filepath.Join(dir, "lock")).Lock()
}

// recordedProvider returns the provider of the module that a state names, nil for the listed one.
func (p *Plugins) recordedProvider(ctx context.Context, spec engine.PackageSpec) (abi.Provider, error) {
	if p.options.Modules == "" || p.options.Installed {
		return nil, nil
	}
	file, err := moduleFile(p.options.Modules, spec.Digest)
	if err != nil {
		return nil, err
	}
	kept, err := p.hasModule(ctx, spec.Digest)
	if err != nil {
		return nil, err
	}
	if !kept {
		if p.project.Provider(spec.Name) == nil {
			return nil, fmt.Errorf("the module that made these resources is not kept beside the state, and no project lists the provider %s: copy the module to %s",
				spec.Name, file)
		}
		p.options.Events(engine.Diagnostic{Severity: "warning", Provider: spec.Name,
			Message: "the module that made these resources (" + spec.Digest + ") was not kept: using the one that the project lists"})
		return nil, nil
	}
	if err := p.trusts(ctx, spec.Digest, spec.Name); err != nil {
		return nil, err
	}
	module, err := p.keptModule(ctx, spec, file)
	if err != nil {
		return nil, err
	}
	if module.Name != spec.Name {
		return nil, fmt.Errorf("the state names the module %s as the provider %s, and it is the provider %s", spec.Digest, spec.Name, module.Name)
	}
	p.trust(module)
	// The grants depend on the module's own version, not on the one in the state.
	declared, err := p.project.ProviderVersion(spec.Name, module.Version)
	if err != nil {
		declared = p.project.Provider(spec.Name) // the newest version's grants
	}
	if declared == nil {
		declared = &program.ProviderPlugin{Name: spec.Name} // nothing is granted
	}
	return engineProvider(p.mappedProvider(ctx, declared, module, spec.EnvVarMappings))
}

// keptModule loads the module that a state names from its file. If the file is damaged and the project
// lists the same module, that one is used, and replaces the file.
func (p *Plugins) keptModule(ctx context.Context, spec engine.PackageSpec, file string) (*Module, error) {
	is, err := p.host.Digest(file)
	if err == nil && is == spec.Digest {
		return p.moduleOf(ctx, spec.Name, file, spec.Digest, origin{source: sourceState + spec.Name, path: file, anySigner: true})
	}
	if _, module, err := p.declaredProvider(ctx, spec.Name, spec.Version); err == nil && module.Info().Digest == spec.Digest {
		if p.performing.Load() {
			err = p.Keep(module)
		}
		return module, err
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kept module %s: %w", file, err)
	}
	return nil, changedError(file, is)
}

// changedError returns the error for the file of a kept module that has another digest.
func changedError(file, digest string) error {
	return fmt.Errorf("the kept module %s has changed (its digest is %s): restore it, or run again with --installed", file, digest)
}
