// Package yamlprogram runs programs written in YAML, in the syntax of Pulumi
// YAML, against the engine's resource monitor.
//
// A run first checks the whole program against the schemas of the packages it
// uses, and tells everything that is wrong with it; nothing is registered before
// that. It then registers each resource as soon as those that it refers to are
// done, independent ones at the same time.
//
// A package that the project declares with parameters is one that its provider
// becomes by them: the program is checked against the schema of what it becomes, and
// the package is registered before anything that belongs to it.
//
// Values keep what they are made of: what was computed from a resource carries
// its URN, what was computed from a secret is secret, and what is not known in a
// preview is unknown.
package yamlprogram

import (
	"context"
	"errors"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
)

// Schemas says what packages offer. It may be called concurrently.
type Schemas interface {
	// Package returns the schema of a package, nil for a package that has none:
	// programs may then use it, but are not checked. The schema of a package with
	// parameters is that of what its source becomes by them. The error is
	// [ErrUnknownPackage] where no provider has the name of the source.
	Package(ctx context.Context, pkg program.Package) (*schema.Package, error)
}

// ErrUnknownPackage says that there is no provider for a package.
var ErrUnknownPackage = errors.New("unknown package")

// Program is a program written in YAML. It can be run any number of times.
type Program struct {
	project *program.Project
	schemas Schemas
}

// New returns the program of a project.
func New(project *program.Project, schemas Schemas) *Program {
	return &Program{project: project, schemas: schemas}
}

// Check tells everything that is wrong with the program as far as that can be
// told without running it. The error is that of the context.
func (p *Program) Check(ctx context.Context, run abi.RunContext) (source.Diagnostics, error) {
	_, ds, err := p.compile(ctx, run)
	return ds, err
}
