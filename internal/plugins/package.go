package plugins

import (
	"context"
	"errors"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine/program"
)

// MadePackage is a package as a project can declare it.
type MadePackage struct {
	program.Package
	// Version is that of the package itself.
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
