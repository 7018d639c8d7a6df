package registrycmd

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/program/yamlprogram"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/plugins/install"
	"github.com/husk-dev/husk/internal/port/known"
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

// sdks find the SDKs of Pulumi's packages that programs of a runtime require, in the files that list them.
var sdks = map[string]struct {
	files   []string
	pattern *lazyregexp.Regexp
}{
	"nodejs": {[]string{"package.json"}, &lazyregexp.Regexp{Syntax: `"@pulumi(?:verse)?/([a-z0-9-]+)"\s*:`}},
	"python": {[]string{"requirements.txt", "pyproject.toml"}, &lazyregexp.Regexp{Syntax: `(?m)^[\s"']*pulumi(?:verse)?[-_]([a-z0-9_-]+)`}},
	"go":     {[]string{"go.mod"}, &lazyregexp.Regexp{Syntax: `github\.com/pulumi(?:verse)?/pulumi-([a-z0-9-]+)/sdk`}},
}

// unlisted returns the packages that the project's program uses, as far as its text tells, and that the project has no provider
// for. A program that cannot be read is left to the commands that run it.
func unlisted(ctx context.Context, project *program.Project) []string {
	used := &usedPackages{}
	if project.Runtime == program.RuntimeYAML {
		_, _ = yamlprogram.New(project, used).Validate(ctx, abi.RunContext{Project: project.Name, DryRun: true}, nil)
	}
	for _, file := range sdks[project.Runtime].files {
		text, err := project.Root.ReadFile(filepath.Join(project.ProgramDir, file), source.MaxFileSize)
		if err != nil {
			continue
		}
		for _, found := range sdks[project.Runtime].pattern.Get().FindAllSubmatch(text, -1) {
			used.sources = append(used.sources, strings.ReplaceAll(string(found[1]), "_", "-"))
		}
	}
	slices.Sort(used.sources)
	return slices.DeleteFunc(slices.Compact(used.sources), func(name string) bool {
		return name == "" || name == "pulumi" || name == "policy" || name == engine.DynamicPackage || project.Provider(name) != nil
	})
}

// tellUnlisted says how to get a package that no registry has.
func (a commands) tellUnlisted(name, file, registries string) {
	if module := known.Module(name); module != "" {
		a.Say("The program uses %s, which %s does not list%s. To port %s:\n  husk provider port %s -o %[1]s.wasm\nthen list it under plugins.providers: {name: %[1]s, path: %[1]s.wasm}",
			name, file, registries, module, name)
		return
	}
	a.Say("The program uses %s, which %s does not list%s. Husk knows no source of it: list its module with a source or path, port its provider by its repository, or list Pulumi's plugin of it, which native: true runs without a sandbox.", name, file, registries)
}

// findUnlisted looks up what the program uses and the project does not list, and returns what to add after a yes. It says of
// the others where they are.
func (a commands) findUnlisted(ctx context.Context, f *installFlags) (all []install.Found, err error) {
	err = a.withProject(ctx, f.offline, func(project *program.Project, p *plugins.Plugins) error {
		registries, err := p.Registries()
		if err != nil {
			return err
		}
		for _, name := range unlisted(ctx, project) {
			if len(registries) == 0 {
				a.tellUnlisted(name, project.File.Name, "")
				continue
			}
			found, err := install.Find(ctx, p, name, "", a.progress())
			switch {
			case errors.Is(err, registry.ErrNotFound):
				a.tellUnlisted(name, project.File.Name, ", and no registry has")
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
