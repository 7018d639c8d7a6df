package program

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/base/blocking"
)

// FindFile returns the path of the project file in the directory of a root, empty if there is none. It returns the path of a file
// that cannot be opened, too: [LoadProject] then returns the error.
func FindFile(root *projectroot.Root) string {
	for _, name := range projectFiles {
		if info, err := root.Stat(name); err == nil && !info.IsDir() || errors.Is(err, projectroot.ErrOutside) {
			return root.Path(name)
		}
	}
	return ""
}

// LoadProject reads the project file in the directory of a root. The error may be [*NoProjectError] or
// [source.Diagnostics], or the cause of the context's end: a file system that does not answer is not waited for any longer.
func LoadProject(ctx context.Context, root *projectroot.Root) (*Project, error) {
	return blocking.Call(ctx, func() (*Project, error) {
		for _, name := range projectFiles {
			text, err := root.ReadFile(name, source.MaxFileSize)
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("cannot read the project file: %w", err)
			}
			return ParseProject(ctx, root, name, text)
		}
		return nil, &NoProjectError{Dir: root.Dir()}
	}, nil)
}

// ParseProject reads the text of a project file that lies in the directory of a root, and the files that it names.
func ParseProject(ctx context.Context, root *projectroot.Root, name string, text []byte) (*Project, error) {
	left := allowanceOf(root)
	p, ds := readProject(ctx, root, name, text, left)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := left.noRoom(); err != nil {
		return nil, err
	}
	if err := ds.Err(); err != nil {
		return nil, err
	}
	p.Warnings = ds
	return p, nil
}

// ReadProject is ParseProject for an editor: it returns the usable parts of a project with mistakes, nil if the text is not YAML,
// or if the context has ended.
func ReadProject(ctx context.Context, in *projectroot.Root, name string, text []byte) (*Project, source.Diagnostics) {
	return readProject(ctx, in, name, text, allowanceOf(in))
}

func readProject(ctx context.Context, in *projectroot.Root, name string, text []byte, left *allowance) (*Project, source.Diagnostics) {
	type read struct {
		project *Project
		source.Diagnostics
	}
	r, err := blocking.Call(ctx, func() (read, error) {
		p, ds := decodeProject(ctx, in, name, text, left)
		return read{p, ds}, ctx.Err()
	}, nil)
	if err != nil {
		d := source.NewForeignFile(name, nil).Errorf(source.Position{}, "the project was not read: %v", err)
		d.Cause = err
		return nil, source.Diagnostics{d}
	}
	return r.project, r.Diagnostics
}

// decodeProject reads a project until the context ends, which it looks at before each file.
func decodeProject(ctx context.Context, in *projectroot.Root, name string, text []byte, left *allowance) (*Project, source.Diagnostics) {
	dir := in.Dir()
	p := &Project{Root: in, Dir: dir, Runtime: RuntimeYAML, ProgramDir: dir, StackConfigDir: dir, loading: ctx, left: left}
	defer func() { p.loading, p.left = nil, nil }()
	p.File = p.newFile(name, text)
	p.index()
	if err := left.take(ctx, source.DecodedSize(text)); err != nil {
		return nil, source.Diagnostics{p.File.Errorf(source.Position{}, "%v", err)}
	}
	root, err := source.Parse(p.File, text)
	if errors.Is(err, source.ErrEmpty) {
		d := p.File.Errorf(source.Position{}, "the project file is empty")
		d.Detail = `it needs at least "name: my-project"`
		return nil, source.Diagnostics{d}
	}
	if ds, ok := errors.AsType[source.Diagnostics](err); ok {
		return nil, ds
	}
	r := &source.Report{File: p.File}
	p.Template.File = p.File
	d := decoder{Report: r, project: p}
	d.root(root)
	return p, r.Diagnostics()
}

// ended returns why the project is not loaded any further.
func (p *Project) ended() error {
	if p.loading == nil {
		return nil
	}
	return context.Cause(p.loading)
}

func (p *Project) readFile(path string) ([]byte, error) {
	if err := p.ended(); err != nil {
		return nil, err
	}
	text, err := p.Root.ReadFile(path, source.MaxFileSize)
	if err == nil {
		err = p.left.take(p.loading, source.DecodedSize(text))
	}
	return text, err
}

// readDir returns the entries of a directory of the project.
func (p *Project) readDir(path string) ([]fs.DirEntry, error) {
	if err := p.ended(); err != nil {
		return nil, err
	}
	entries, err := p.Root.ReadDir(path)
	if err == nil {
		err = p.left.take(p.loading, int64(len(entries))*entryMemory)
	}
	return entries, err
}
