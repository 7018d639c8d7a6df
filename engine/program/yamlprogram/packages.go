package yamlprogram

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/engine/program/source"
	"go.yaml.in/yaml/v3"
)

// providerPrefix begins the types of providers: pulumi:providers:aws.
const providerPrefix = "pulumi:providers:"

// providedPackage returns the package of a provider's type, empty for the type
// of any other resource.
func providedPackage(typ string) string {
	pkg, ok := strings.CutPrefix(typ, providerPrefix)
	if !ok {
		return ""
	}
	return pkg
}

type packageKey struct{ name, version string }

// loadedPackage is a package's schema, or that it cannot be used. The schema is
// nil where the package has none.
type loadedPackage struct {
	schema *schema.Package
	usable bool
}

// packages loads each package once, and reports each problem once.
type packages struct {
	schemas Schemas
	loaded  map[packageKey]loadedPackage
}

func (c *compilation) pkg(ctx context.Context, name, version string, at *yaml.Node) loadedPackage {
	key := packageKey{name, version}
	if p, ok := c.packages.loaded[key]; ok {
		return p
	}
	s, err := c.packages.schemas.Package(ctx, name, version)
	p := loadedPackage{schema: s, usable: err == nil}
	c.packages.loaded[key] = p
	switch {
	case errors.Is(err, ErrUnknownPackage):
		c.report.Add(c.unknownPackage(name, at))
	case err != nil:
		if ds, ok := errors.AsType[source.Diagnostics](err); ok {
			c.report.Add(ds...) // it has a place of its own, in plugins.providers
			break
		}
		d := c.report.File.Errorf(source.Of(at), "the package %q cannot be used: %v", name, err)
		d.Cause = err
		c.report.Add(d)
	}
	return p
}

func (c *compilation) unknownPackage(name string, at *yaml.Node) source.Diagnostic {
	if name == "pulumi" {
		return c.report.File.Errorf(source.Of(at), "the types that are built into Pulumi's engine, other than providers, are not supported")
	}
	var names []string
	for _, p := range c.program.project.Providers {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	d := c.report.File.Errorf(source.Of(at), "there is no provider for the package %q%s", name, source.DidYouMean(name, names))
	listed := "lists no providers"
	if len(names) > 0 {
		listed = "lists only " + strings.Join(names, ", ")
	}
	d.Detail = fmt.Sprintf("plugins.providers in %s %s; add an entry there:\n  - name: %s\n    path: <a .wasm file, or a directory of Go source>",
		c.program.project.File.Name, listed, name)
	return d
}

// packageOf returns the package of a token such as random:RandomPet or
// random:index/randomPet:RandomPet.
func packageOf(token string) (string, bool) {
	parts := strings.Split(token, ":")
	return parts[0], (len(parts) == 2 || len(parts) == 3) && !slices.Contains(parts, "")
}

// resolve finds a resource's type in the schema of its package.
func (c *compilation) resolve(ctx context.Context, r *resource) {
	if r.typ == "" {
		return
	}
	if r.pkg = providedPackage(r.typ); r.pkg != "" {
		r.token = r.typ
		if p := c.pkg(ctx, r.pkg, r.options.version, r.typeNode); p.schema != nil {
			r.inputs, r.outputs = &p.schema.Config, &p.schema.Config
		}
		return
	}
	pkg, ok := packageOf(r.typ)
	if !ok {
		c.report.Errorf(r.typeNode, "%q is not a type: it must have the form <package>:<name> or <package>:<module>:<name>", r.typ)
		return
	}
	r.pkg = pkg
	p := c.pkg(ctx, pkg, r.options.version, r.typeNode)
	if p.schema == nil {
		r.token = expand(r.typ)
		return
	}
	r.schema = p.schema.ResolveResource(r.typ)
	if r.schema == nil {
		c.report.Add(c.unknownToken("resource type", r.typ, r.typeNode, p.schema.NearestResource(r.typ), resourceTokens(p.schema)))
		return
	}
	r.token, r.inputs, r.outputs = r.schema.Token, &r.schema.Inputs, &r.schema.Outputs
}

// expand gives a token its module where nothing is known about the package.
func expand(token string) string {
	if pkg, name, _ := strings.Cut(token, ":"); !strings.Contains(name, ":") {
		return pkg + ":index:" + name
	}
	return token
}

// maxListedTokens bounds the tokens that a message lists where none is near.
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

func resourceTokens(p *schema.Package) []string {
	tokens := make([]string, len(p.Resources))
	for i, r := range p.Resources {
		tokens[i] = r.Token
	}
	return tokens
}

// function is a provider function that a program calls.
type function struct {
	token, pkg string
	// schema is nil where the package has no schema.
	schema *schema.Function
}

// resolveFunction finds a function in the schema of its package.
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
	p := c.pkg(ctx, pkg, x.Version, x.TokenNode)
	switch {
	case !p.usable:
		return f, false
	case p.schema == nil:
		f = function{token: expand(x.Token), pkg: pkg}
		return f, true
	}
	s := p.schema.ResolveFunction(x.Token)
	if s == nil {
		var tokens []string
		for _, known := range p.schema.Functions {
			tokens = append(tokens, known.Token)
		}
		c.report.Add(c.unknownToken("function", x.Token, x.TokenNode, p.schema.NearestFunction(x.Token), tokens))
		return f, false
	}
	f = function{token: s.Token, pkg: pkg, schema: s}
	return f, true
}
