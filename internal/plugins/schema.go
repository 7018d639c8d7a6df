package plugins

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/base/atomicfile"
	"github.com/husk-dev/husk/internal/plugins/lockfile"
)

// Package implements [yamlprogram.Schemas]. It returns the schema of a package of the project, nil if its
// provider has none.
func (p *Plugins) Package(ctx context.Context, pkg program.Package) (*schema.Package, error) {
	if native, err := p.native(ctx, pkg.Source, pkg.Version); native != nil || err != nil {
		if err != nil {
			return nil, err
		}
		_, text, err := parameterize(ctx, native, pkg)
		return parseSchema(text, err)
	}
	if declared, err := p.project.ProviderVersion(pkg.Source, pkg.Version); err == nil && declared != nil && declared.Native && !p.options.RunNative {
		return nil, nil // see [Options.RunNative]
	}
	if text, listed, err := p.nativePluginSchema(ctx, pkg); listed {
		return parseSchema(text, err)
	}
	declared, module, err := p.declaredProvider(ctx, pkg.Source, pkg.Version)
	if err != nil {
		return nil, err
	}
	if _, err := p.grants(declared); err != nil {
		return nil, err // earlier than when a resource needs it
	}
	if pkg.Parameterized() {
		return parseSchema(p.parameterizedSchema(ctx, pkg, declared, module)) // the declaration is the place of its errors
	}
	out, err := parseSchema(p.Schema(ctx, module))
	if err != nil {
		return nil, p.problem(providerEntry(declared), err)
	}
	return out, nil
}

// parseSchema reads a schema, nil if the provider has none.
func parseSchema(text []byte, err error) (*schema.Package, error) {
	if errors.Is(err, abi.ErrUnimplemented) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out, err := schemajson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("reading its schema: %w", err)
	}
	return out, nil
}

// PackageSchema returns the JSON of the schema of a package that the project declares with parameters. The
// error is abi.ErrUnimplemented if it has none.
func (p *Plugins) PackageSchema(ctx context.Context, pkg program.Package) ([]byte, error) {
	if text, listed, err := p.nativePluginSchema(ctx, pkg); listed {
		return text, err
	}
	declared, module, err := p.declaredProvider(ctx, pkg.Source, pkg.Version)
	if err != nil {
		return nil, err
	}
	return p.parameterizedSchema(ctx, pkg, declared, module)
}

// parameterizedSchema returns the schema of a parameterized package, uncached: files may be parameters.
func (p *Plugins) parameterizedSchema(ctx context.Context, pkg program.Package, declared *program.ProviderPlugin, module *Module) (text []byte, err error) {
	provider, err := p.grantedProvider(ctx, declared, module)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, provider.Close()) }()
	_, text, err = parameterize(ctx, provider, pkg)
	return text, err
}

// parameterize makes a package of a provider. It returns the response to each of the package's parameters,
// and the package's schema.
func parameterize(ctx context.Context, provider abi.Provider, pkg program.Package) (answers []abi.ParameterizeResponse, schema []byte, err error) {
	if _, err := provider.Handshake(ctx, abi.HandshakeRequest{Engine: "husk"}); err != nil {
		return nil, nil, err
	}
	var request abi.GetSchemaRequest
	for _, by := range []struct {
		parameters *program.Parameterization
		extension  bool
		refused    string
	}{{pkg.Parameters, false, "takes no parameters"}, {pkg.Extension, true, "takes no extensions"}} {
		if by.parameters == nil {
			continue
		}
		made, err := provider.Parameterize(ctx, abi.ParameterizeRequest{Parameters: *by.parameters.Parameters(), Extension: by.extension})
		if errors.Is(err, abi.ErrUnimplemented) {
			return nil, nil, fmt.Errorf("its provider %q %s", pkg.Source, by.refused)
		}
		if err != nil {
			return nil, nil, err
		}
		if made.Name == "" || made.Version == "" {
			return nil, nil, fmt.Errorf("its provider %q does not say what package, in what version, it became", pkg.Source)
		}
		answers = append(answers, made)
		if by.extension {
			request = abi.GetSchemaRequest{SubpackageName: made.Name, SubpackageVersion: made.Version}
		}
	}
	resp, err := provider.GetSchema(ctx, request)
	return answers, []byte(resp.Schema), err
}

// Schema returns the JSON of a module's schema. The error is abi.ErrUnimplemented if it has none. Schemas
// are cached by the module's digest, because large ones take a while to make.
func (p *Plugins) Schema(ctx context.Context, m *Module) ([]byte, error) {
	file := p.schemaFile(m.Info().Digest)
	if text, err := os.ReadFile(file); err == nil {
		return text, nil
	}
	var text []byte
	err := m.ungranted(ctx, func(provider abi.Provider) error {
		if _, err := provider.Handshake(ctx, abi.HandshakeRequest{Engine: "husk"}); err != nil {
			return err
		}
		resp, err := provider.GetSchema(ctx, abi.GetSchemaRequest{})
		text = []byte(resp.Schema)
		return err
	})
	if err != nil {
		return nil, err
	}
	if file != "" {
		// Without the file, the next call makes the schema again.
		if os.MkdirAll(filepath.Dir(file), 0o700) == nil {
			_ = atomicfile.WriteUnsynced(file, text, 0o600)
		}
	}
	return text, nil
}

// schemaFile returns the file of a module's schema in the cache, empty without a cache.
func (p *Plugins) schemaFile(digest string) string {
	if p.options.Places.Cache == "" {
		return ""
	}
	return filepath.Join(p.options.Places.Cache, "schemas", strings.TrimPrefix(digest, DigestPrefix)+".json")
}

// KnownSchema returns the schema of a package from the cache, nil if it has none. Nothing is fetched, built, compiled, or run:
// the module must be a file or pinned in husk.lock, and the package must not be parameterized.
func (p *Plugins) KnownSchema(pkg program.Package) *schema.Package {
	declared, err := p.project.ProviderVersion(pkg.Source, pkg.Version)
	if err != nil || declared == nil || declared.Native || pkg.Parameterized() {
		return nil
	}
	digest := ""
	if declared.Source == "" {
		digest, _ = p.digestOf(p.rootOf(declared.Path), declared.Path)
	} else if lock, err := lockfile.Load(p.project); err == nil {
		if locked, err := lock.Of(declared); err == nil && locked != nil {
			digest = locked.Digest
		}
	}
	text, err := os.ReadFile(p.schemaFile(digest)) // not there if nobody has asked for it
	s, err := parseSchema(text, err)
	if err != nil {
		return nil
	}
	return s
}
