package program

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/base/intake"
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

// allowance bounds the memory for loading one project that is not trusted: each of its files is small, but there may be any number of
// them. A nil allowance has no bound: for a trusted project, and after a project was loaded. It is safe for concurrent use.
type allowance struct {
	mu     sync.Mutex
	memory int64
	// full is the error of whoever loads the project and has no memory for it now, nil if there was none.
	full error
}

const (
	// maxProjectMemory bounds the memory for the files of a project together, as [source.DecodedSize] counts it.
	maxProjectMemory = 256 << 20
	// entryMemory is what a name in a directory takes.
	entryMemory = 320
)

// allowanceOf returns the allowance for loading the project of a root.
func allowanceOf(root *projectroot.Root) *allowance {
	if root.Trusted() {
		return nil
	}
	return &allowance{memory: maxProjectMemory}
}

// errTooMuch is the error for a file that a project is not allowed to have any more.
var errTooMuch = fmt.Errorf("the files of the project have too much in them together: a project that is not trusted may take %d MiB of memory, "+
	"of which each file takes %d KiB, each line, entry, and comment %d bytes, and each byte %d",
	maxProjectMemory>>20, source.MemoryOfFile>>10, source.MemoryOfPart, source.MemoryOfByte)

// take charges memory before it is allocated. The room that the context has for it is asked, too: see [intake.WithRoom].
func (a *allowance) take(ctx context.Context, memory int64) error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.memory -= memory; a.memory < 0 {
		return errTooMuch
	}
	if a.full == nil {
		a.full = intake.Room(ctx, memory)
	}
	if a.full != nil {
		return fmt.Errorf("%w: %w", errTooMuch, a.full)
	}
	return nil
}

// noRoom returns why whoever loads the project has no memory for it, nil if they have.
func (a *allowance) noRoom() error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.full
}
