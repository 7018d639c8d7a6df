package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/plugins/lockfile"
)

// packages keeps the schemas of packages between changes of a project. It is safe for concurrent use.
type packages struct {
	// ctx ends the loads, which outlive the requests that begin them.
	ctx     context.Context
	options plugins.Options

	mu     sync.Mutex
	loaded map[string]*load
}

// load is the schema of a package, or the reason why there is none, when done is closed.
type load struct {
	// position is where the project lists the provider: an error has places in the file.
	position source.Position
	done     chan struct{}
	schema   *schema.Package
	err      error
}

func (l *load) failed() bool {
	select {
	case <-l.done:
		return l.err != nil
	default:
		return false
	}
}

func newPackages(ctx context.Context, o plugins.Options) *packages {
	return &packages{ctx: ctx, options: o, loaded: map[string]*load{}}
}

// schema returns the schema of a package, nil if it has none.
func (p *packages) schema(ctx context.Context, project *program.Project, pkg program.Package) (*schema.Package, error) {
	declared, err := project.ProviderVersion(pkg.Source, pkg.Version)
	if err != nil || declared == nil { // no module is loaded for the error
		return p.load(project, pkg)
	}
	key := keyOf(project, pkg, declared)
	p.mu.Lock()
	l := p.loaded[key]
	if l == nil || l.failed() && l.position != declared.Position {
		l = &load{position: declared.Position, done: make(chan struct{})}
		p.loaded[key] = l
		go func() {
			defer close(l.done)
			l.schema, l.err = p.load(project, pkg)
		}()
	}
	p.mu.Unlock()
	select {
	case <-l.done:
		return l.schema, l.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// forget has failed loads tried again.
func (p *packages) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, l := range p.loaded {
		if l.failed() {
			delete(p.loaded, key)
		}
	}
}

func (p *packages) load(project *program.Project, pkg program.Package) (s *schema.Package, err error) {
	opened, err := plugins.Open(p.ctx, project, p.options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, opened.Close(context.WithoutCancel(p.ctx))) }()
	return opened.Package(p.ctx, pkg)
}

// keyOf returns the facts that the schema of a package depends on, without their places in the project.
func keyOf(project *program.Project, pkg program.Package, declared *program.ProviderPlugin) string {
	pkg.Position = source.Position{}
	d := *declared
	d.Position = source.Position{}
	d.Grants, d.Limits = slices.Clone(d.Grants), slices.Concat(d.Limits, project.Limits)
	for i := range d.Grants {
		d.Grants[i].Position = source.Position{}
		d.Grants[i].Headers = slices.Clone(d.Grants[i].Headers)
		for j := range d.Grants[i].Headers {
			d.Grants[i].Headers[j].Position = source.Position{}
		}
	}
	for i := range d.Limits {
		d.Limits[i].Position = source.Position{}
	}
	text, _ := json.Marshal([]any{project.Dir, pkg, d, stamp(project.Root, moduleFile(project, &d))}) // of text and numbers only
	return string(text)
}

// moduleFile returns the file that changes whenever the module of a provider does: the module, or the lock of its source.
func moduleFile(project *program.Project, d *program.ProviderPlugin) string {
	if d.Source != "" {
		return lockfile.Path(project)
	}
	return project.Path(d.Path)
}
