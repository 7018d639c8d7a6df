package program

import (
	"path/filepath"
	"strings"
)

// goFiles beside Go source, or above it, say what it is built of.
var goFiles = []string{"go.mod", "go.sum", "go.work", "go.work.sum"}

// OwnFiles returns the paths of what decides what the next run does: the project file, the lock, the program,
// the configuration of stacks, providers, and policy packs. Some need not exist. A * in the last
// name stands for any text.
func (p *Project) OwnFiles() []string {
	var all []string
	add := func(dir string, names ...string) {
		for _, name := range names {
			all = append(all, filepath.Join(dir, name))
		}
	}
	add(p.Dir, projectFiles...)
	add(p.Dir, LockFile)
	add(p.ProgramDir, mainFiles...)
	add(filepath.Join(p.Dir, locksDir), "*.yaml")
	add(filepath.Join(p.ProgramDir, locksDir), "*.yaml")
	if p.Template.File != nil {
		add(p.Dir, p.Template.File.Name)
	}
	for i := range p.Components {
		add(p.Components[i].Dir, "*.yaml")
	}
	add(p.StackConfigDir, "Husk.*.yaml", "Husk.*.yml", "Pulumi.*.yaml", "Pulumi.*.yml")
	for i := range p.Providers {
		if path := p.Providers[i].Path; path != "" {
			all = append(all, p.moduleFiles(path)...)
		}
	}
	if p.Vendor != "" {
		all = append(all, p.Vendor)
	}
	for i := range p.Policies {
		all = append(all, p.moduleFiles(p.Policies[i].Path)...)
	}
	return all
}

// moduleFiles are a module, or the directory of its source and what says how it is built.
func (p *Project) moduleFiles(name string) []string {
	path := p.Path(name)
	all := []string{path}
	if strings.HasSuffix(path, ".wasm") {
		return all
	}
	for at := path; at != p.Dir; {
		at = filepath.Dir(at)
		if rest, err := filepath.Rel(p.Dir, at); err != nil || !filepath.IsLocal(rest) {
			break
		}
		for _, file := range goFiles {
			all = append(all, filepath.Join(at, file))
		}
	}
	return all
}
