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
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/budget"
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
	// limits bound the evaluation of each run, and of each check.
	limits budget.Limits
}

// New returns the program of a project. That of a project that is not trusted reads files of the project, and what is in
// the Internet.
func New(project *program.Project, schemas Schemas) *Program {
	return &Program{project: project, schemas: schemas}
}

// Limit bounds what the evaluation of a run, or a check, may take. Without it, the defaults of [budget.Limits] do. The
// error of a run that takes more has a [*budget.ExceededError].
func (p *Program) Limit(limits budget.Limits) { p.limits = limits }

// OnWarning has the first run call f with the warnings about the program.
func (p *Program) OnWarning(f func(source.Diagnostic)) { p.warn = f }

// Check returns all that is wrong with the program without running it, or the context's error.
func (p *Program) Check(ctx context.Context, run abi.RunContext) (source.Diagnostics, error) {
	c, ds, err := p.compile(ctx, run, nil)
	c.budget.Close()
	return ds, err
}

// Validate is Check for a program whose configuration is not all known. The values of the keys in unknown, and of declared
// keys that the run has no value for, may be any of their types.
func (p *Program) Validate(ctx context.Context, run abi.RunContext, unknown []string) (source.Diagnostics, error) {
	set := make(map[string]bool, len(run.Config))
	for _, e := range run.Config {
		set[e.Key] = true
	}
	for _, d := range p.project.Config {
		if d.Default.IsNull() && !set[d.Key] {
			unknown = append(unknown, d.Key)
		}
	}
	c, ds, err := p.compile(ctx, run, unknown)
	c.budget.Close()
	return ds, err
}
