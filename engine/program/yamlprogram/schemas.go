package yamlprogram

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/engine/program/source"
)

// providedPackage returns the package of a provider's type, empty for other types.
func providedPackage(typ string) string {
	if !providers.IsType(typ) {
		return ""
	}
	return strings.TrimPrefix(typ, providers.TypePrefix)
}

type packageKey struct{ name, version string }

// loadedPackage is a package. It may have no schema, or not be usable.
type loadedPackage struct {
	schema *schema.Package
	usable bool
}

// packages loads each package once, and reports each problem once.
type packages struct {
	schemas Schemas
	// fetched are the schemas that were requested ahead.
	fetched map[packageKey]func() (*schema.Package, error)
	loaded  map[packageKey]loadedPackage
	// components are the types of a package's components.
	components map[string][]string
	// replacing are the properties whose changes replace resources, by type.
	replacing map[string][]string
	// refs are the monitor's references to packages with parameters, by name.
	refs map[string]string
}

// pkg loads a package. version is empty for the one that the project declares.
func (c *compilation) pkg(ctx context.Context, name, version string, at, versionAt *yaml.Node) loadedPackage {
	if name == builtin.Package {
		return loadedPackage{schema: c.builtins, usable: true}
	}
	want := c.packageIn(name, version)
	if version != "" && want.Parameterized() {
		c.report.Errorf(versionAt, "the package %q is made of the provider %q with parameters, which say its version; take the option version out", name, want.Source)
	}
	key := packageKey{name, want.Version}
	if p, ok := c.packages.loaded[key]; ok {
		return p
	}
	load := c.packages.fetched[key]
	if load == nil {
		load = func() (*schema.Package, error) { return c.packages.schemas.Package(ctx, want) }
	}
	s, err := load()
	p := loadedPackage{schema: s, usable: err == nil}
	switch {
	case errors.Is(err, ErrUnknownPackage):
		c.report.Add(c.unknownPackage(want.Source, at))
	case err != nil:
		c.unusable(want, err, at)
	case s != nil && want.Parameterized() && s.Name != want.Name:
		c.report.Add(c.misnamed(want, s.Name))
		p = loadedPackage{}
	}
	c.packages.loaded[key] = p
	return p
}

// packageIn returns a package in the version that is wanted, empty for the one that the project declares.
func (c *compilation) packageIn(name, version string) program.Package {
	want := c.program.project.Package(name)
	if version != "" && !want.Parameterized() {
		want.Version, want.Position = version, source.Position{}
	}
	return want
}

// unusable reports that a package cannot be used: where it is declared, else where it is used.
func (c *compilation) unusable(pkg program.Package, err error, at *yaml.Node) {
	if ds, ok := errors.AsType[source.Diagnostics](err); ok {
		c.report.Add(ds...) // it has a place of its own, in plugins.providers
		return
	}
	file, position := c.report.File, source.Of(at)
	if pkg.Position != (source.Position{}) {
		file, position = c.program.project.File, pkg.Position
	}
	summary, detail, _ := strings.Cut(err.Error(), "\n")
	d := file.Errorf(position, "the package %q cannot be used: %s", pkg.Name, summary)
	d.Detail, d.Cause = detail, err
	c.report.Add(d)
}

func (c *compilation) misnamed(pkg program.Package, name string) source.Diagnostic {
	format, what := "with these parameters, the provider %q is the package %q, not %q", "parameters"
	if pkg.Extension != nil {
		format, what = "with this extension, the provider %q serves the package %q, not %q", "extension"
	}
	return c.program.project.File.Errorf(pkg.Position, format, pkg.Source, name, pkg.Name).
		With("declare the package by that name, or correct its " + what)
}

// registerPackages registers the packages with parameters that the program uses.
func (c *compilation) registerPackages(ctx context.Context, monitor abi.Monitor) error {
	for _, pkg := range c.program.project.Packages {
		if _, used := c.packages.loaded[packageKey{pkg.Name, pkg.Version}]; !used || !pkg.Parameterized() {
			continue
		}
		response, err := monitor.RegisterPackage(ctx, abi.RegisterPackageRequest{
			Name: pkg.Source, Version: pkg.Version,
			Parameters: pkg.Parameters.Parameters(), Extension: pkg.Extension.Parameters(),
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			c.unusable(pkg, err, nil)
		case response.Name != pkg.Name:
			c.report.Add(c.misnamed(pkg, response.Name))
		default:
			c.packages.refs[pkg.Name] = response.PackageRef
		}
	}
	return c.report.Diagnostics().Err()
}

// versionOf returns the version of a package if what uses it gives none.
func (c *compilation) versionOf(pkg string) string {
	if declared := c.program.project.Package(pkg); !declared.Parameterized() {
		return declared.Version
	}
	return "" // its reference says it
}

func (c *compilation) served(pkg string) string { return c.program.project.Package(pkg).Served() }

func (c *compilation) unknownPackage(name string, at *yaml.Node) source.Diagnostic {
	var names []string
	known := func() []string {
		all := slices.Clone(names)
		for _, p := range c.program.project.Packages {
			all = append(all, p.Name)
		}
		return all
	}
	lists := "lists no providers"
	if !c.report.Full() {
		for _, p := range c.program.project.Providers {
			names = append(names, p.Name)
		}
		slices.Sort(names)
	}
	d := c.report.File.Errorf(source.Of(at), "there is no provider for the package %q%s", name, c.report.DidYouMean(name, known))
	if len(names) > 0 {
		lists = "lists only " + listed(names)
	}
	d.Detail = fmt.Sprintf("plugins.providers in %s %s; add an entry there:\n  - name: %s\n    path: <a .wasm file, or a directory of source>\nor run husk install with its source, or with its name if a registry has it",
		c.program.project.File.Name, lists, name)
	return d
}

// packageOf returns the package of a token such as random:index/randomPet:RandomPet.
func packageOf(token string) (string, bool) {
	parts := strings.Split(token, ":")
	return parts[0], (len(parts) == 2 || len(parts) == 3) && !slices.Contains(parts, "")
}

func (c *compilation) resolve(ctx context.Context, r *resource) {
	if r.typ == "" || c.resolveComponent(r) {
		return
	}
	if r.pkg = providedPackage(r.typ); r.pkg != "" {
		r.token = r.typ
		if declared := c.program.project.Package(r.pkg); declared.Extension != nil {
			c.report.Errorf(r.typeNode, "the package %q has no provider of its own: it extends the provider %q, which serves it", r.pkg, declared.Source)
			return
		}
		if p := c.pkg(ctx, r.pkg, r.options.version, r.typeNode, r.options.versionNode); p.schema != nil {
			r.inputs, r.outputs = &p.schema.Config, &p.schema.Config
			r.providerVersion = p.schema.Version
		}
		return
	}
	pkg, ok := packageOf(r.typ)
	if !ok {
		c.report.Errorf(r.typeNode, "%s", noType(r.typ))
		return
	}
	r.pkg = pkg
	if c.unknownComponent(r, pkg) {
		return
	}
	p := c.pkg(ctx, pkg, r.options.version, r.typeNode, r.options.versionNode)
	if p.schema == nil {
		r.token = expand(r.typ)
		return
	}
	r.packageVersion = p.schema.Version
	r.schema = p.schema.ResolveResource(r.typ)
	if r.schema == nil {
		c.report.Add(c.unknownToken("resource type", r.typ, r.typeNode, c.nearest(len(p.schema.Resources), func() string { return p.schema.NearestResource(r.typ) }), tokens(p.schema.Resources, func(r *schema.Resource) string { return r.Token })))
		return
	}
	r.token, r.inputs, r.outputs = r.schema.Token, &r.schema.Inputs, &r.schema.Outputs
	if !r.isComponent() {
		paths, ok := c.packages.replacing[r.token]
		if !ok {
			w := replacingWalk{}
			w.visit(r.outputs, nil, nil)
			paths = w.paths
			c.packages.replacing[r.token] = paths
		}
		r.replaceOnChanges = paths
	}
}

// replacingWalk finds the properties of a type that have its resources replaced, by their schema.
type replacingWalk struct {
	paths   []string
	visited int
}

// maxReplacingVisits bounds the objects that are looked at: types that are made of others can be many.
const maxReplacingVisits = 10_000

// visit looks at the properties of an object. within are the objects around it, which may contain it again.
func (w *replacingWalk) visit(o *schema.Object, at property.Path, within []*schema.Object) {
	if w.visited++; w.visited > maxReplacingVisits || slices.Contains(within, o) {
		return
	}
	within = append(slices.Clip(within), o)
	for i := range o.Properties {
		p := &o.Properties[i]
		path := append(slices.Clip(at), property.Key(p.Name))
		if p.ReplaceOnChanges {
			w.paths = append(w.paths, path.String())
			continue
		}
		t := p.Type
		for t != nil && (t.Kind == schema.KindArray || t.Kind == schema.KindMap) {
			path, t = append(path, property.Wildcard()), t.Element
		}
		if t != nil && t.Kind == schema.KindObject && t.Object != nil {
			w.visit(t.Object, path, within)
		}
	}
}

// expand gives a token its module if nothing is known about the package.
func expand(token string) string {
	if pkg, name, _ := strings.Cut(token, ":"); !strings.Contains(name, ":") {
		return pkg + ":index:" + name
	}
	return token
}

// maxListedTokens bounds the tokens that a message lists if none is near.
const maxListedTokens = 10

func (c *compilation) unknownToken(kind, token string, at *yaml.Node, near string, known []string) source.Diagnostic {
	pkg, _ := packageOf(token)
	if near != "" {
		return c.report.File.Errorf(source.Of(at), "the package %q has no %s %q; did you mean %q?", pkg, kind, token, near)
	}
	d := c.report.File.Errorf(source.Of(at), "the package %q has no %s %q", pkg, kind, token)
	if len(known) > 0 && len(known) <= maxListedTokens {
		d.Detail = "it has " + strings.Join(known, ", ")
	}
	return d
}

// tokens returns the tokens of all, nil if no message lists so many.
func tokens[T any](all []T, token func(T) string) []string {
	if len(all) > maxListedTokens {
		return nil
	}
	out := make([]string, len(all))
	for i, t := range all {
		out[i] = schema.ShortToken(token(t))
	}
	return out
}

type function struct {
	token, pkg string
	// schema is nil if the package has no schema.
	schema *schema.Function
}

func (c *compilation) resolveFunction(ctx context.Context, x *expr.Invoke) (function, bool) {
	if f, ok := c.functions[x]; ok {
		return f, f.token != ""
	}
	var f function
	defer func() { c.functions[x] = f }()
	pkg, ok := packageOf(x.Token)
	if !ok {
		c.report.Errorf(x.TokenNode, "%q is not a function: it must have the form <package>:<name> or <package>:<module>:<name>", x.Token)
		return f, false
	}
	p := c.pkg(ctx, pkg, x.Version, x.TokenNode, x.VersionNode)
	switch {
	case !p.usable:
		return f, false
	case p.schema == nil:
		f = function{token: expand(x.Token), pkg: pkg}
		return f, true
	}
	s := p.schema.ResolveFunction(x.Token)
	if s == nil {
		known := tokens(p.schema.Functions, func(f *schema.Function) string { return f.Token })
		c.report.Add(c.unknownToken("function", x.Token, x.TokenNode, c.nearest(len(p.schema.Functions), func() string { return p.schema.NearestFunction(x.Token) }), known))
		return f, false
	}
	f = function{token: s.Token, pkg: pkg, schema: s}
	return f, true
}

// nearest returns the result of a search among so many names, or nothing once many were compared.
func (c *compilation) nearest(among int, search func() string) (near string) {
	c.report.Compare(among, func() { near = search() })
	return near
}

// fetch loads all packages of the program at once: each may have to be built and compiled.
func (c *compilation) fetch(ctx context.Context) {
	var all sync.WaitGroup
	fetch := func(token, version string) {
		name := providedPackage(token)
		if pkg, ok := packageOf(token); ok && name == "" {
			name = pkg
		}
		if name == "" || name == builtin.Package || c.program.project.Component(token) != nil {
			return
		}
		want := c.packageIn(name, version)
		key := packageKey{name, want.Version}
		if c.packages.fetched[key] != nil {
			return
		}
		load := sync.OnceValues(func() (*schema.Package, error) { return c.packages.schemas.Package(ctx, want) })
		c.packages.fetched[key] = load
		all.Go(func() { _, _ = load() }) // whoever uses the package reports the error
	}
	for _, c := range append(c.inOrder(), c) {
		for _, r := range c.resources {
			fetch(r.typ, r.options.version)
		}
		c.expressions(func(x expr.Expr) {
			if call, ok := x.(*expr.Invoke); ok {
				fetch(call.Token, call.Version)
			}
		})
	}
	all.Wait()
}

func (c *compilation) expressions(visit func(expr.Expr)) {
	for _, v := range c.variables {
		expr.Walk(v.value, visit)
	}
	for _, r := range c.resources {
		for _, x := range (&node{resource: r}).expressions() {
			expr.Walk(x, visit)
		}
	}
	for _, a := range c.actions {
		expr.Walk(a.call, visit)
	}
	for _, o := range c.outputs {
		expr.Walk(o.value, visit)
	}
}

// noType is the error of a type without a package, with the type that one in Terraform's form is by default.
func noType(typ string) string {
	text := fmt.Sprintf("%q is not a type: it must have the form <package>:<name> or <package>:<module>:<name>", typ)
	pkg, words, is := strings.Cut(typ, "_")
	if !is || pkg == "" || strings.Trim(words, "_") == "" || strings.Trim(typ, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return text
	}
	var name strings.Builder
	for word := range strings.FieldsFuncSeq(words, func(r rune) bool { return r == '_' }) {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return text + fmt.Sprintf("; did you mean %q?", pkg+":"+name.String())
}

// ResourceToken returns the whole type of a resource: random:index/randomPet:RandomPet for
// random:RandomPet. The error is [ErrUnknownPackage] if the project has no provider for the
// package.
func ResourceToken(ctx context.Context, project *program.Project, schemas Schemas, typ string) (string, error) {
	pkg, ok := packageOf(typ)
	if !ok {
		return "", errors.New(noType(typ))
	}
	s, err := schemas.Package(ctx, project.Package(pkg))
	if err != nil {
		return "", err
	}
	if s == nil {
		return expand(typ), nil
	}
	if r := s.ResolveResource(typ); r != nil {
		return r.Token, nil
	}
	err = fmt.Errorf("the package %q has no resource type %q", pkg, typ)
	if near := s.NearestResource(typ); near != "" {
		err = fmt.Errorf("%w; did you mean %q?", err, near)
	}
	return "", err
}
