package guest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/guest-sdk/internal/docs"
	"github.com/husk-dev/husk/guest-sdk/internal/shape"
)

func register(p Provider, common *shared) (*server, error) {
	if p.Name == "" || p.Version == "" {
		return nil, errors.New("its name and version must not be empty")
	}
	s := &server{
		shared: common,
		pkg: &schema.Package{
			Name: p.Name, Version: p.Version, DisplayName: p.DisplayName, Description: p.Description,
			Keywords: p.Keywords, Homepage: p.Homepage, License: p.License, Repository: p.Repository,
			Publisher:         p.Publisher,
			SchemaCheckConfig: true, SchemaDiffConfig: true,
			SchemaConfigure: p.Config.configure == nil, Deferred: p.Config.configure == nil || p.Config.deferred,
		},
		resources:    map[string]*resource{},
		functions:    map[string]*function{},
		mappings:     p.Mappings,
		requests:     p.Requests,
		close:        p.Close,
		parameterize: p.Parameterize,
		extend:       p.Extend,
	}
	b := &shape.Builder{Package: p.Name}
	if err := s.addConfig(b, p.Config); err != nil {
		return nil, errors.New("configuration: " + err.Error())
	}
	for _, r := range p.Resources {
		if err := r.addTo(s, b, "resource", "guest.ResourceOf or guest.ResourceFrom"); err != nil {
			return nil, err
		}
	}
	for _, f := range p.Functions {
		if err := f.addTo(s, b, "function", "guest.FunctionOf or guest.FunctionFrom"); err != nil {
			return nil, err
		}
	}
	for _, f := range p.Streams {
		if err := f.addTo(s, b, "function", "guest.StreamOf"); err != nil {
			return nil, err
		}
	}
	for _, e := range p.Ephemerals {
		if err := e.addTo(s, b, "ephemeral function", "guest.EphemeralOf"); err != nil {
			return nil, err
		}
	}
	for _, a := range p.Actions {
		if err := a.addTo(s, b, "action", "guest.ActionOf"); err != nil {
			return nil, err
		}
	}
	for _, c := range p.Components {
		if err := c.addTo(s, b, "component", "guest.ComponentOf"); err != nil {
			return nil, err
		}
	}
	for _, r := range b.References() {
		if s.pkg.Resource(r.Token) == nil {
			return nil, errors.New("the field " + r.Field + " refers to the resource " + r.Token + ", which the package does not have")
		}
	}
	s.pkg.Types = b.Types()
	for _, t := range p.Types {
		if err := declare(&s.pkg.Types, t, func(t *schema.Object) string { return t.Token }); err != nil {
			return nil, errors.New("type " + t.Token + ": " + err.Error())
		}
	}
	return s, nil
}

func (s *server) addConfig(b *shape.Builder, c Config) (err error) {
	if c.configure == nil {
		return nil
	}
	if s.config, err = c.properties.inputs(b); err != nil {
		return err
	}
	s.configure = c.configure
	s.pkg.Config = *s.config.Object
	if t := c.properties.typ; t != nil {
		s.pkg.Config.Description = docs.Type(s.pkg.Config.Description, t)
	}
	return unnamed(s.config)
}

// declaration is a resource, function, or component that an author declares.
type declaration struct {
	token string
	// add registers it. Code that few providers need is called only through add, so that other modules do not contain it.
	add func(s *server, b *shape.Builder) error
}

// addTo registers the declaration, whose kind and maker are for messages.
func (d declaration) addTo(s *server, b *shape.Builder, kind, maker string) error {
	err := errors.New("it was not made by " + maker)
	if d.add != nil {
		err = d.add(s, b)
	}
	if err != nil {
		return errors.New(kind + " " + d.token + ": " + err.Error())
	}
	return nil
}

// properties are the properties of a Go struct, or of a description.
type properties struct {
	typ       reflect.Type
	described *schema.Object
}

func (p properties) inputs(b *shape.Builder) (*shape.Shape, error) {
	if p.described != nil {
		return describedShape(p.described)
	}
	return b.Inputs(p.typ)
}

func (p properties) outputs(b *shape.Builder) (*shape.Shape, error) {
	if p.described != nil {
		return describedShape(p.described)
	}
	return b.Outputs(p.typ)
}

func describedShape(o *schema.Object) (*shape.Shape, error) {
	names := o.Names()
	if !slices.IsSorted(names) || len(slices.Compact(names)) < len(o.Properties) {
		return nil, errors.New("its properties are not sorted by name, or one is there twice")
	}
	return shape.Properties(o), nil
}

// newResource returns the declaration of r, which creator implements. Inlined, its closure would be
// in modules once for each resource.
//
//go:noinline
func newResource(token string, a about, in, out properties, r resource, creator any) Resource {
	return Resource{declaration{token, func(s *server, b *shape.Builder) (err error) {
		added := r
		if err := checkMethods(creator, r.can); err != nil {
			return err
		}
		if added.Resource, added.inputs, added.state, err = s.addResource(b, token, &a, in, out, reflect.TypeOf(creator)); err != nil {
			return err
		}
		s.resources[token] = &added
		return added.complete(&a)
	}}}
}

func (s *server) addResource(b *shape.Builder, token string, a *about, in, out properties, documented reflect.Type) (r *schema.Resource, inputs, state *shape.Shape, err error) {
	if inputs, state, err = s.shapes(b, token, in, out); err != nil {
		return nil, nil, nil, err
	}
	if r = a.resource; r == nil {
		r = &schema.Resource{
			Token: token, Description: docs.Type(a.description, documented), Deprecation: a.deprecation, Aliases: a.aliases,
			Inputs: *inputs.Object, Outputs: *state.Object,
		}
	}
	for _, name := range [...]string{"id", "urn"} {
		if r.Outputs.Property(name) != nil {
			return nil, nil, nil, errors.New(`its state must not have a property "` + name + `": every resource has one already`)
		}
	}
	return r, inputs, state, declare(&s.pkg.Resources, r, func(r *schema.Resource) string { return r.Token })
}

// shapes returns the shapes of a token's inputs and outputs.
func (s *server) shapes(b *shape.Builder, token string, in, out properties) (taken, given *shape.Shape, err error) {
	if err := checkToken(s.pkg.Name, token); err != nil {
		return nil, nil, err
	}
	if taken, err = in.inputs(b); err == nil {
		given, err = out.outputs(b)
	}
	return taken, given, err
}

// declare adds to a list that is sorted by token.
func declare[T any](list *[]T, added T, token func(T) string) error {
	at, exists := slices.BinarySearchFunc(*list, token(added), func(t T, wanted string) int { return strings.Compare(token(t), wanted) })
	if exists {
		return errors.New("it is declared twice")
	}
	*list = shape.Insert(*list, at, added)
	return nil
}

// complete adds to the schema of the resource what follows from its methods and options.
func (r *resource) complete(a *about) error {
	if a.resource == nil {
		r.DeleteBeforeReplace, r.Identity = a.deleteBeforeReplace, a.identity
	}
	slices.Sort(r.Identity)
	for _, name := range r.Identity {
		if r.Inputs.Property(name) == nil {
			return errors.New("its identity " + name + " is none of its inputs")
		}
	}
	r.copies = r.inputs.Copies()
	name, _ := r.inputs.Autoname()
	r.SchemaCheck, r.SchemaDiff = !r.can.checks && name == "", !r.can.diffs
	if !r.can.updates {
		for i := range r.Inputs.Properties {
			r.Inputs.Properties[i].Replace = true
		}
	}
	return nil
}

// newFunction returns the declaration of a function. It is not inlined, as newResource.
//
//go:noinline
func newFunction(token string, a about, args, result properties, call func(ctx context.Context, args unsafe.Pointer) (unsafe.Pointer, error)) Function {
	return Function{declaration{token, func(s *server, b *shape.Builder) (err error) {
		f := &function{call: call}
		if f.Function, f.args, f.result, err = s.addFunction(b, token, &a, args, result); err != nil {
			return err
		}
		s.functions[token] = f
		return unnamed(f.args)
	}}}
}

func (s *server) addFunction(b *shape.Builder, token string, a *about, in, out properties) (f *schema.Function, args, result *shape.Shape, err error) {
	if args, result, err = s.shapes(b, token, in, out); err != nil {
		return nil, nil, nil, err
	}
	if f = a.function; f == nil {
		f = &schema.Function{Token: token, Description: a.description, Deprecation: a.deprecation, Args: *args.Object, Result: *result.Object}
	}
	return f, args, result, declare(&s.pkg.Functions, f, func(f *schema.Function) string { return f.Token })
}

// unnamed refuses tags that only names of resources may have.
func unnamed(s *shape.Shape) error {
	if name, _ := s.Autoname(); name != "" {
		return errors.New(name + ": autoname is for the inputs of resources")
	}
	return nil
}

func checkToken(pkg, token string) error {
	parts := strings.Split(token, ":")
	if len(parts) != 3 || slices.Contains(parts, "") {
		return errors.New("a token has the form <package>:<module>:<name>")
	}
	if parts[0] != pkg {
		return errors.New("its token must begin with " + pkg + ":")
	}
	return nil
}
