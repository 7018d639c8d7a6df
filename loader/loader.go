// Package loader gives a Go program providers from modules: each by the path of its file, by its digest, or from memory, with
// its grants and limits. They serve calls of the program itself, or deployments of package engine.
//
// It takes the modules that the program lists, and no others: it builds, fetches, and trusts nothing.
// Package automation does that, as the command does.
package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/host"
)

// Module is a module, and the grants and limits of its provider. One of Path, Wasm, and Digest says which.
type Module struct {
	// Path is its file.
	Path string
	// Wasm is the module itself.
	Wasm []byte
	// Digest is sha256: and 64 hexadecimal digits. Of a module with a path or in memory, another digest is an error. Alone, it names
	// the file with these digits and .wasm in [Loader.Dir].
	Digest string
	// Options has the grants and limits; the name is the loader's. The zero value grants nothing.
	Options host.ProviderOptions
}

// Loader makes providers. It is an [engine.Loader], safe for concurrent use. Its fields are not changed after the first use.
type Loader struct {
	// Host runs the modules. Its configuration has the limits of all, and the cache of machine code.
	Host *host.Host
	// Modules are the modules by the names of their packages.
	Modules map[string]Module
	// Dir has modules by digest, as beside a state; empty for none. A deployment refreshes and deletes resources by
	// the module that made them, if Dir has it, with the options of the listed one. Whoever writes the state chooses among them, so it
	// has none that may not run.
	Dir string
}

var _ engine.Loader = (*Loader)(nil)

// Open makes a provider of a package, not yet configured. It is an [io.Closer].
func (l *Loader) Open(ctx context.Context, name string) (abi.Provider, error) {
	return l.Load(ctx, engine.PackageSpec{Name: name})
}

// Load implements [engine.Loader].
func (l *Loader) Load(ctx context.Context, spec engine.PackageSpec) (abi.Provider, error) {
	m, ok := l.Modules[spec.Name]
	if !ok {
		return nil, fmt.Errorf("there is no module for the package %q: add it to the modules of the loader, which has %s",
			spec.Name, cmp.Or(strings.Join(slices.Sorted(maps.Keys(l.Modules)), ", "), "none"))
	}
	if spec.Digest != "" && l.Dir != "" {
		recorded := Module{Digest: spec.Digest, Options: m.Options}
		provider, err := l.provider(ctx, recorded, spec)
		if !errors.Is(err, fs.ErrNotExist) {
			return provider, err
		}
	}
	return l.provider(ctx, m, spec)
}

func (l *Loader) provider(ctx context.Context, m Module, spec engine.PackageSpec) (abi.Provider, error) {
	module, err := l.module(ctx, m)
	if err != nil {
		return nil, fmt.Errorf("the provider %s: %w", spec.Name, err)
	}
	if m.Digest != "" && module.Digest != m.Digest {
		return nil, fmt.Errorf("the provider %s: the module has the digest %s, and not %s", spec.Name, module.Digest, m.Digest)
	}
	options := m.Options
	options.Name = spec.Name
	if mapped := spec.EnvVarMappings.Map(); len(mapped) > 0 {
		options.Grants.EnvVarMappings = mapped
	}
	provider, err := module.NewProvider(ctx, options)
	if err != nil {
		return nil, err // a nil *host.Provider would be an abi.Provider that is not nil
	}
	return provider, nil
}

func (l *Loader) module(ctx context.Context, m Module) (*host.Module, error) {
	switch {
	case m.Wasm != nil && m.Path != "":
		return nil, errors.New("its module has a path and is in memory: give one of both")
	case m.Wasm != nil:
		return l.Host.LoadBytes(ctx, m.Wasm)
	case m.Path != "":
		return l.Host.Load(ctx, m.Path)
	}
	sum, ok := strings.CutPrefix(m.Digest, "sha256:")
	switch {
	case m.Digest == "":
		return nil, errors.New("its module has neither a path nor a digest, and is not in memory")
	case !ok || len(sum) != 64 || strings.Trim(sum, "0123456789abcdef") != "":
		return nil, fmt.Errorf("%q is not the digest of a module: it must be sha256: and 64 hexadecimal digits", m.Digest)
	case l.Dir == "":
		return nil, errors.New("its module is named by its digest alone, and the loader has no directory of modules")
	}
	file := filepath.Join(l.Dir, sum+".wasm")
	if _, err := os.Stat(file); err != nil {
		return nil, err
	}
	return l.Host.Load(ctx, file)
}
