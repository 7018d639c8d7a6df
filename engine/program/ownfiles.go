package program

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/projectroot"
)

// goFiles beside Go source, or above it, decide the modules of its build.
var goFiles = []string{"go.mod", "go.sum", "go.work", "go.work.sum"}

// OwnFiles returns the paths of the files that decide what the next run does: the project file, the lock, the program, the
// configuration of stacks, providers, and policy packs. Some need not exist. A * in the last name stands for any text.
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

// moduleFiles returns the paths of a module, or of its source and the files that configure its build.
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

// allowance bounds the bytes read and the parts parsed to load one project that is not trusted: each of its files is small, but
// there may be any number of them. A nil allowance has no bound: for a trusted project, and after a project was loaded.
type allowance struct{ bytes, parts int }

const (
	// maxProjectBytes bounds the files of a project together.
	maxProjectBytes = 4 * source.MaxFileSize
	// maxProjectParts bounds their parts, as [source.Parts] counts them, which take memory as long as the project is used.
	maxProjectParts = source.MaxParts
	// fileParts is the least that a file counts, because its aliases multiply its contents.
	fileParts = 500
)

// allowanceOf returns the allowance for loading the project of a root.
func allowanceOf(root *projectroot.Root) *allowance {
	if root.Trusted() {
		return nil
	}
	return &allowance{maxProjectBytes, maxProjectParts}
}

// errTooMuch is the error for a file that a project is not allowed to have any more.
var errTooMuch = errors.New("the files of the project have too much in them together: a project that is not trusted may have 32 MiB, " +
	"and 1500000 lines, entries, and comments, where each file counts 500 at least")

// take charges a text.
func (a *allowance) take(text []byte) error {
	if a == nil {
		return nil
	}
	if a.bytes -= len(text); a.bytes < 0 { // and no text is looked at any more
		return errTooMuch
	}
	return a.entries(fileParts + source.Parts(text))
}

// entries charges n parts.
func (a *allowance) entries(n int) error {
	if a == nil {
		return nil
	}
	if a.parts -= n; a.parts < 0 {
		return errTooMuch
	}
	return nil
}
