// Package yamlprogram runs programs in the syntax of Pulumi YAML against the engine's resource
// monitor.
//
// A run checks the whole program against the schemas of its packages, also of those that parameters
// make, and reports all that is wrong. Then it registers each resource when those that it refers to
// are done, independent ones at the same time.
//
// A value that was computed from a resource carries its URN. What was computed from a secret is
// secret, and what a preview does not know is unknown.
package yamlprogram

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
)

// Schemas says what packages offer. It may be called concurrently.
type Schemas interface {
	// Package returns the schema of a package, nil if it has none: then programs are not checked.
	// With parameters, it is that of what the source becomes. The error is [ErrUnknownPackage] if
	// there is no provider of the name of the source.
	Package(ctx context.Context, pkg program.Package) (*schema.Package, error)
}

// ErrUnknownPackage says that there is no provider for a package.
var ErrUnknownPackage = errors.New("unknown package")

// Program is a program written in YAML. It can be run any number of times.
type Program struct {
	project *program.Project
	// warn receives the warnings of the first run, nil for nobody.
	warn    func(source.Diagnostic)
	warned  sync.Once
	schemas Schemas
	// untrusted says that somebody else wrote the program.
	untrusted bool
}

// New returns the program of a project.
func New(project *program.Project, schemas Schemas) *Program {
	return &Program{project: project, schemas: schemas}
}

// Distrust has the program read what somebody else chose: files of its project, and what is in the Internet.
func (p *Program) Distrust() { p.untrusted = true }

// OnWarning has the first run call f with the warnings about the program.
func (p *Program) OnWarning(f func(source.Diagnostic)) { p.warn = f }

// Check returns all that is wrong with the program without running it, or the context's error.
func (p *Program) Check(ctx context.Context, run abi.RunContext) (source.Diagnostics, error) {
	_, ds, err := p.compile(ctx, run, nil)
	return ds, err
}

// Validate is Check for a program whose configuration is not all known. The values of the keys in unknown, and of declared
// keys that the run has no value for, may be any of their types.
func (p *Program) Validate(ctx context.Context, run abi.RunContext, unknown []string) (source.Diagnostics, error) {
	for _, d := range p.project.Config {
		if d.Default.IsNull() && !slices.ContainsFunc(run.Config, func(e abi.ConfigEntry) bool { return e.Key == d.Key }) {
			unknown = append(unknown, d.Key)
		}
	}
	_, ds, err := p.compile(ctx, run, unknown)
	return ds, err
}
