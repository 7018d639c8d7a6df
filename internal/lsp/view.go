package lsp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/program/yamlprogram"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/workspace"
)

// view is a project as the editor has it: its open documents, and the files of the others. It does not change.
type view struct {
	dir  string
	root *projectroot.Root
	// project lacks what has mistakes. It is nil if nothing of its file can be used.
	project  *program.Project
	problems source.Diagnostics
	// file is the project file, and program the file with the resources, which may be the same.
	file, program *tree
	names         *names
	packages      *packages
}

// isStackFile reports whether a path is of the configuration of a stack.
func isStackFile(path string) bool {
	_, ok := workspace.StackOfFile(filepath.Base(path))
	return ok
}

// newView reads the project in the directory of a root. It returns nil if there is none.
func newView(ctx context.Context, root *projectroot.Root, open func(path string) *document, packages *packages) *view {
	file := projectFile(root, open)
	if file == "" {
		return nil
	}
	v := &view{dir: root.Dir(), root: root, packages: packages}
	trees := map[string]*tree{}
	read := func(path string) (*tree, error) {
		if trees[path] != nil {
			return trees[path], nil
		}
		d := open(path)
		if d == nil {
			text, err := root.ReadFile(path, source.MaxFileSize)
			if err != nil {
				return nil, err
			}
			d = newDocument(path, string(text), nil)
		}
		trees[path] = newTree(d, v.shown(path))
		return trees[path], nil
	}
	t, err := read(file)
	if err != nil {
		return nil
	}
	v.file, v.program = t, t
	edited := root.Overlay(func(path string) ([]byte, bool) {
		if isStackFile(path) {
			if d := open(path); d != nil {
				return []byte(d.text), true
			}
			return nil, false
		}
		t, err := read(path)
		if err != nil {
			return nil, false // which the root says as well
		}
		return []byte(t.kept), true
	})
	v.project, v.problems = program.ReadProject(ctx, edited, filepath.Base(file), []byte(t.kept))
	if v.project != nil && v.project.Template.File != nil {
		if t := trees[v.project.Path(v.project.Template.File.Name)]; t != nil {
			v.program = t
		}
	}
	v.names = newNames(v)
	return v
}

// shown returns a path as diagnostics name it.
func (v *view) shown(path string) string {
	if name, err := filepath.Rel(v.dir, path); err == nil {
		return name
	}
	return path
}

// projectFile returns the path of the project file in the directory of a root, also of one that is not saved yet.
func projectFile(root *projectroot.Root, open func(path string) *document) string {
	if file := program.FindFile(root); file != "" {
		return file
	}
	for _, name := range program.FileNames() {
		if path := root.Path(name); open(path) != nil {
			return path
		}
	}
	return ""
}

// projectDir returns the directory of the project that a file belongs to, empty if there is none.
func (s *server) projectDir(path string) string {
	dir := filepath.Dir(path)
	if projectFile(s.options.Root(dir), s.opened) != "" {
		return dir
	}
	found, err := workspace.Find(dir)
	if err != nil || projectFile(s.options.Root(found), s.opened) == "" {
		return ""
	}
	return found
}

// tree returns the tree of a path that the view has read, or nil.
func (v *view) tree(path string) *tree {
	for _, t := range []*tree{v.program, v.file} {
		if t.path == path {
			return t
		}
	}
	return nil
}

// treeOf returns the project that a document belongs to, and the tree of the document: the project file, the program, or the
// configuration of a stack. They are nil if there is none.
func (s *server) treeOf(ctx context.Context, uri string) (*view, *tree) {
	path := uriToPath(uri)
	v := s.view(ctx, path)
	if v == nil {
		return nil, nil
	}
	t := v.tree(path)
	if d := s.document(path); t == nil && d != nil && isStackFile(path) {
		t = newTree(d, v.shown(path))
	}
	return v, t
}

// Package implements [yamlprogram.Schemas]. If the project file has mistakes, an unlisted package does not count as a mistake of
// the program.
func (v *view) Package(ctx context.Context, pkg program.Package) (*schema.Package, error) {
	s, err := v.packages.schema(ctx, v.project, pkg)
	if errors.Is(err, yamlprogram.ErrUnknownPackage) && (v.problems.HasErrors() || len(v.file.mistakes) > 0) {
		return nil, nil
	}
	return s, err
}

// pkg returns the schema of the package of a token, nil if it has none.
func (v *view) pkg(ctx context.Context, name string) *schema.Package {
	if name == builtin.Package {
		return builtin.Schema()
	}
	if v.project == nil {
		return nil
	}
	s, err := v.packages.schema(ctx, v.project, v.project.Package(name))
	if err != nil {
		return nil // the diagnostics say so
	}
	return s
}

// packageNames returns the names of the packages of the project.
func (v *view) packageNames() []string {
	names := []string{builtin.Package}
	if v.project != nil {
		for _, p := range v.project.Providers {
			names = append(names, p.Name)
		}
		for _, p := range v.project.Packages {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// stamp returns a value that changes when a module or its source does.
func stamp(root *projectroot.Root, path string) (out struct {
	Size, Time int64
},
) {
	const maxFiles = 5000
	files := 0
	_ = root.WalkDir(path, func(name string, entry os.DirEntry, err error) error {
		if err != nil {
			return nil // the load tells of it
		}
		if entry.IsDir() && name != path && (entry.Name()[0] == '.' || entry.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if info, err := entry.Info(); err == nil && !entry.IsDir() {
			out.Size += info.Size()
			out.Time = max(out.Time, info.ModTime().UnixNano())
		}
		if files++; files > maxFiles {
			return filepath.SkipAll
		}
		return nil
	})
	return out
}
