package plugins

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/host"
)

// Granted opens a provider of a module that no project lists. Each has a configuration of its own, in
// fresh instances, and is closed with its Close method. Responses that do not fit the schema are passed
// on, for conformance tests. Logs and output become diagnostics if logs is set, and are dropped otherwise.
func (p *Plugins) Granted(ctx context.Context, m *Module, grants host.Grants, logs bool) (abi.Provider, error) {
	grants.GrantAdvice = flagToGrant
	options := host.ProviderOptions{Name: m.Name, Grants: grants, Limits: p.limits.of(m.Name), Instances: p.options.Instances, Lenient: true}
	if logs {
		options.Logger = slog.New(&records{to: p.options.Events})
	}
	return engineProvider(m.module.NewProvider(ctx, options))
}

// Served opens a provider of a module that no project lists, for another engine than Husk's. Its responses
// must fit the schema, and its logs and output become diagnostics. It is closed with its Close method.
func (p *Plugins) Served(ctx context.Context, m *Module, grants host.Grants) (abi.Provider, error) {
	grants.GrantAdvice = flagToGrant
	return engineProvider(m.module.NewProvider(ctx, host.ProviderOptions{
		Name: m.Name, Grants: grants, Limits: p.limits.of(m.Name), Instances: p.options.Instances, Logger: slog.New(&records{to: p.options.Events}),
	}))
}

// engineProvider returns a provider as the engine gets it: none is nil, and no interface with a nil in it.
func engineProvider(p *host.Provider, err error) (abi.Provider, error) {
	if err != nil {
		return nil, err
	}
	return p, nil
}

// records makes diagnostics of the host's log records of guests. It is a [slog.Handler] only for the
// attributes that the host documents.
type records struct {
	to func(engine.Event)
}

// Enabled returns true, because the display selects levels.
func (*records) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements [slog.Handler].
func (r *records) Handle(_ context.Context, record slog.Record) error {
	d := engine.Diagnostic{Severity: severity(record.Level), Message: record.Message, Guest: true}
	record.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case host.LogProvider:
			d.Provider = a.Value.String()
		case host.LogURN:
			d.URN = urn.URN(a.Value.String())
		case host.LogEphemeral:
			d.Ephemeral = a.Value.Bool()
		case host.LogOfHost:
			d.Guest = !a.Value.Bool()
		}
		return true
	})
	if strings.TrimSpace(d.Message) != "" {
		r.to(d)
	}
	return nil
}

// WithAttrs returns the handler, because the host gives all attributes with the record.
func (r *records) WithAttrs([]slog.Attr) slog.Handler { return r }

// WithGroup returns the handler.
func (r *records) WithGroup(string) slog.Handler { return r }

func severity(l slog.Level) string {
	switch {
	case l < slog.LevelInfo:
		return "debug"
	case l < slog.LevelWarn:
		return "info"
	case l < slog.LevelError:
		return "warning"
	default:
		return "error"
	}
}

// MadePackage is a package as a project can declare it.
type MadePackage struct {
	program.Package
	// Version is the version of the package itself.
	Version string
}

// MakePackage returns the package that a provider makes of words, for an extension beside its own. Without
// words, that is its own package. base is a provider of the project, or a package to extend.
func (p *Plugins) MakePackage(ctx context.Context, base string, words []string, extension bool) (made *MadePackage, err error) {
	pkg := p.project.Package(base)
	if pkg.Parameterized() && !extension {
		return nil, fmt.Errorf("%s is a package of the provider %s already: name the provider, or extend the package with --extension", base, pkg.Source)
	}
	if pkg.Extension != nil {
		return nil, fmt.Errorf("the package %s is an extension itself: extend the provider %s instead", base, pkg.Source)
	}
	declared, module, err := p.declaredProvider(ctx, pkg.Source, pkg.Version)
	if err != nil {
		return nil, err
	}
	pkg = program.Package{Source: pkg.Source, Version: module.Version, Parameters: pkg.Parameters}
	if len(words) == 0 {
		pkg.Name = pkg.Source
		return &MadePackage{pkg, module.Version}, nil
	}
	provider, err := p.grantedProvider(ctx, declared, module)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, provider.Close()) }()
	by := &program.Parameterization{Args: words}
	if extension {
		pkg.Extension = by
	} else {
		pkg.Parameters = by
	}
	answers, text, err := parameterize(ctx, provider, pkg)
	if err != nil {
		return nil, fmt.Errorf("parameterizing the provider %s: %w", pkg.Source, err)
	}
	if _, err := parseSchema(text, nil); err != nil {
		return nil, fmt.Errorf("parameterizing the provider %s: %w", pkg.Source, err)
	}
	if pkg.Parameters != nil {
		pkg.Parameters = declarationOf(answers[0])
	}
	if extension {
		pkg.Extension = declarationOf(answers[len(answers)-1])
	}
	last := answers[len(answers)-1]
	pkg.Name = last.Name
	return &MadePackage{pkg, last.Version}, nil
}

// declarationOf returns the response of a provider as a project declares it.
func declarationOf(made abi.ParameterizeResponse) *program.Parameterization {
	value := made.Value
	if value == nil {
		value = []byte{}
	}
	return &program.Parameterization{Name: made.Name, Version: made.Version, Value: value}
}
