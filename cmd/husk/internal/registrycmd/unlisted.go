package registrycmd

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/yamlprogram"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/plugins/install"
	"github.com/husk-dev/husk/internal/registry"
)

// usedPackages has no schemas, and knows whose were wanted.
type usedPackages struct {
	mu      sync.Mutex
	sources []string
}

// Package implements [yamlprogram.Schemas].
func (u *usedPackages) Package(_ context.Context, p program.Package) (*schema.Package, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !slices.Contains(u.sources, p.Source) {
		u.sources = append(u.sources, p.Source)
	}
	return nil, yamlprogram.ErrUnknownPackage
}

// unlisted returns the packages that the project's program in YAML uses, and that the project has no provider for. A program
// that cannot be read is left to the commands that run it.
func unlisted(ctx context.Context, project *program.Project) []string {
	if project.Runtime != program.RuntimeYAML {
		return nil
	}
	used := &usedPackages{}
	_, _ = yamlprogram.New(project, used).Validate(ctx, abi.RunContext{Project: project.Name, DryRun: true}, nil)
	return slices.DeleteFunc(used.sources, func(name string) bool {
		return name == "" || name == "pulumi" || name == engine.DynamicPackage || project.Provider(name) != nil
	})
}

// findUnlisted looks up what the program uses and the project does not list, and returns what to add after a yes. It asks
// nobody if there are no registries.
func (a commands) findUnlisted(ctx context.Context, f *installFlags) (all []install.Found, err error) {
	err = a.withProject(ctx, f.offline, func(project *program.Project, p *plugins.Plugins) error {
		registries, err := p.Registries()
		if err != nil || len(registries) == 0 {
			return err
		}
		for _, name := range unlisted(ctx, project) {
			found, err := install.Find(ctx, p, name, "", a.progress())
			switch {
			case errors.Is(err, registry.ErrNotFound):
				a.Say("The program uses %s, which %s does not list, and no registry has it.", name, project.File.Name)
			case err != nil:
				return err
			default:
				a.Say("The program uses %s, which %s does not list. A registry has it: %s.", name, project.File.Name, found.Where)
				all = append(all, found)
			}
		}
		if len(all) == 0 {
			return nil
		}
		return a.Agree(f.yes, "install", "Add "+cli.Plural(len(all), "provider")+" to the project?")
	})
	return all, err
}
