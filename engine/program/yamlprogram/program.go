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
