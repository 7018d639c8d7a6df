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
	"github.com/husk-dev/husk/internal/wholefile"
)

// moduleStore keeps the modules that resources were made with, by digest, beside
// the state that names them: what a module made can be refreshed and destroyed
// by it, however the provider's source or file has changed since.
type moduleStore struct{ dir string }

// DigestPrefix begins the digests of modules.
const DigestPrefix = "sha256:"

// file returns the name of the file that holds a module. A digest is read from a
// state, so it is checked before it becomes part of a path.
func (s moduleStore) file(digest string) (string, error) {
	sum, ok := strings.CutPrefix(digest, DigestPrefix)
	if raw, err := hex.DecodeString(sum); !ok || err != nil || len(raw) != 32 {
		return "", fmt.Errorf("the state names a module by %q, which is no digest: it must be sha256: and 64 hexadecimal digits", digest)
	}
	return filepath.Join(s.dir, strings.ToLower(sum)+".wasm"), nil
}

// has reports whether the store holds the module.
func (s moduleStore) has(digest string) bool {
	file, err := s.file(digest)
	if err != nil {
		return false
	}
	_, err = os.Stat(file)
	return err == nil
}

// keep stores the module.
func (s moduleStore) keep(m *Module) error {
	file, err := s.file(m.Info().Digest)
	if err != nil {
		return err
	}
	wasm, err := m.wasm()
	if err != nil {
		return err
	}
	return wholefile.Write(file, wasm, 0o600)
}

// collect removes the modules that are not in use.
func (s moduleStore) collect(inUse map[string]bool) error {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var errs []error
	for _, e := range entries {
		sum, ok := strings.CutSuffix(e.Name(), ".wasm")
		if ok && !inUse[DigestPrefix+sum] {
			errs = append(errs, os.Remove(filepath.Join(s.dir, e.Name())))
		}
	}
	return errors.Join(append(errs, err)...)
}

// HasModule reports whether a directory keeps the module.
func HasModule(dir, digest string) bool { return moduleStore{dir}.has(digest) }

// Keep keeps a module beside the state.
func (p *Plugins) Keep(m *Module) error {
	unlock, err := lockModules(p.options.Modules)
	if err != nil {
		return err
	}
	defer unlock()
	store := moduleStore{p.options.Modules}
	if store.has(m.Info().Digest) {
		return nil
	}
	p.kept.Store(true)
	return store.keep(m)
}

// CollectModules removes kept modules that no state names, if this run may have
// left some: because it kept another, or because always is set. inUse returns the
// digests that the states name.
func (p *Plugins) CollectModules(always bool, inUse func() (map[string]bool, error)) error {
	if !always && !p.kept.Load() {
		return nil
	}
	return CollectModules(p.options.Modules, inUse)
}

// CollectModules removes the modules in a directory that no state names.
func CollectModules(dir string, inUse func() (map[string]bool, error)) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unlock, err := lockModules(dir)
	if err != nil {
		return err
	}
	defer unlock()
	digests, err := inUse()
	if err != nil {
		return err
	}
	return moduleStore{dir}.collect(digests)
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
		return nil, fmt.Errorf("the module that made these resources is not kept beside the state, and no project lists the provider %s: bring it there as %s",
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
	module, err := p.moduleOf(ctx, spec.Name, file, spec.Digest)
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
