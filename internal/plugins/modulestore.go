package plugins

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/atomicfile"
)

// moduleStore keeps the modules that resources were made with, by digest, beside
// the state that names them: what a module made can be refreshed and destroyed
// by it, however the provider's source or file has changed since.
type moduleStore struct{ dir string }

// DigestPrefix begins the digests of modules.
const DigestPrefix = "sha256:"

const moduleSuffix = ".wasm"

// file returns the name of the file that holds a module. A digest is read from a
// state, so it is checked before it becomes part of a path.
func (s moduleStore) file(digest string) (string, error) {
	sum, ok := strings.CutPrefix(digest, DigestPrefix)
	if raw, err := hex.DecodeString(sum); !ok || err != nil || len(raw) != 32 {
		return "", fmt.Errorf("the state names a module by %q, which is not a digest: it must be sha256: and 64 hexadecimal digits", digest)
	}
	return filepath.Join(s.dir, strings.ToLower(sum)+moduleSuffix), nil
}

// has reports whether there is a file for the module. It does not look into it.
func (s moduleStore) has(digest string) bool {
	file, err := s.file(digest)
	if err != nil {
		return false
	}
	_, err = os.Stat(file)
	return err == nil
}

// collect removes the modules that are not in use.
func (s moduleStore) collect(inUse func(digest string) bool) error {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		sum, ok := strings.CutSuffix(e.Name(), moduleSuffix)
		if ok && !inUse(DigestPrefix+sum) {
			errs = append(errs, os.Remove(filepath.Join(s.dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// HasModule reports whether a directory keeps the module.
func HasModule(dir, digest string) bool { return moduleStore{dir}.has(digest) }

// Keep keeps a module beside the state until the plugins are closed, and after that for as long as a
// state names it.
func (p *Plugins) Keep(m *Module) error { return p.keep(m.Info().Digest, m.Info().Size, m.wasm) }

func (p *Plugins) keep(digest string, size int, wasm func() ([]byte, error)) error {
	store := moduleStore{p.options.Modules}
	file, err := store.file(digest)
	if err != nil {
		return err
	}
	unlock, err := lockModules(store.dir)
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
	if err := atomicfile.Write(file, content, 0o600); err != nil {
		return err
	}
	return atomicfile.SyncDir(store.dir)
}

// KeepOn is Keep for a module that is kept already. It reports whether there is one.
func (p *Plugins) KeepOn(digest string) (bool, error) {
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

// isWhole reports whether a file has the module that was kept in it.
func (p *Plugins) isWhole(file, digest string, size int) bool {
	info, err := os.Stat(file)
	if err != nil || info.Size() != int64(size) {
		return false
	}
	if p.options.Places.Precompiled != "" {
		return true // without a cache the file would be hashed each time, which takes long on small machines
	}
	is, err := p.host.Digest(file)
	return err == nil && is == digest
}

// claim protects a module from others that collect modules. The caller holds the lock of the
// modules.
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

// endClaims ends the claims. From here on the states name the modules that this run needs.
func (p *Plugins) endClaims() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	claims := p.claims
	p.claims = nil
	return claims.end()
}

// CollectModules removes kept modules that no state names, if this run may have
// left some: because it kept another, or because always is set. inUse returns the
// digests that the states name, this run's with them.
func (p *Plugins) CollectModules(always bool, inUse func() (map[string]bool, error)) error {
	if !always && !p.kept.Load() {
		return nil
	}
	if err := p.endClaims(); err != nil {
		return err
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
	// The claims are read first: a run that ends in between has its modules named by its state.
	claimed, err := claimedIn(dir)
	if err != nil {
		return err
	}
	named, err := inUse()
	if err != nil {
		return err
	}
	return moduleStore{dir}.collect(func(digest string) bool { return claimed[digest] || named[digest] })
}

// lockModules keeps runs that keep and runs that collect modules apart.
func lockModules(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return lockedfile.MutexAt(filepath.Join(dir, "lock")).Lock()
}

// recorded returns the provider of the module that a state names, nil where it is
// the one that the project lists, or where it was not kept.
func (p *Plugins) recorded(ctx context.Context, spec engine.PackageSpec) (abi.Provider, error) {
	store := moduleStore{p.options.Modules}
	if p.options.Modules == "" || p.options.Installed {
		return nil, nil
	}
	file, err := store.file(spec.Digest)
	if err != nil {
		return nil, err
	}
	if !store.has(spec.Digest) && p.project.Provider(spec.Name) == nil {
		return nil, fmt.Errorf("the module that made these resources is not kept beside the state, and no project lists the provider %s: copy the module to %s",
			spec.Name, file)
	}
	if !store.has(spec.Digest) {
		p.options.Diagnostics(engine.Diagnostic{Severity: "warning", Provider: spec.Name,
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
	// What it may do depends on its own version, not on the one that the state tells.
	declared, err := p.project.ProviderVersion(spec.Name, module.Version)
	if err != nil {
		declared = p.project.Provider(spec.Name) // it is granted what the newest is
	}
	if declared == nil {
		declared = &program.ProviderPlugin{Name: spec.Name} // it may do nothing then
	}
	return loaded(p.granted(ctx, declared, module))
}

// keptModule loads the module that a state names from the file that it is kept in. If the file is
// damaged and the project lists the same module, that one is used and kept anew.
func (p *Plugins) keptModule(ctx context.Context, spec engine.PackageSpec, file string) (*Module, error) {
	is, err := p.host.Digest(file)
	if err == nil && is == spec.Digest {
		return p.moduleOf(ctx, spec.Name, file, spec.Digest)
	}
	if _, module, err := p.declared(ctx, spec.Name, spec.Version); err == nil && module.Info().Digest == spec.Digest {
		if p.performing.Load() {
			err = p.Keep(module)
		}
		return module, err
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kept module %s: %w", file, err)
	}
	return nil, changed(file, is)
}

// changed is the error for the file of a kept module that has another digest.
func changed(file, digest string) error {
	return fmt.Errorf("the kept module %s has changed (its digest is %s): restore it, or run again with --installed", file, digest)
}
