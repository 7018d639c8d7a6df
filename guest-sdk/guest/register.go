package guest

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/guest-sdk/internal/docs"
	"github.com/husk-dev/husk/guest-sdk/internal/shape"
)

// register makes a server of what the author declared.
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
	if p.Config.configure != nil {
		var err error
		if described := p.Config.described; described != nil {
			s.config, err = describedShape(described)
		} else {
			s.config, err = b.Inputs(p.Config.typ)
		}
		if err != nil {
			return nil, errors.New("configuration: " + err.Error())
		}
		if err := unnamed(s.config); err != nil {
			return nil, errors.New("configuration: " + err.Error())
		}
		s.configure = p.Config.configure
		s.pkg.Config = *s.config.Object
		if t := p.Config.typ; t != nil {
			s.pkg.Config.Description = docs.Type(s.pkg.Config.Description, t)
		}
	}
	for i := range p.Resources {
		if err := s.addResource(b, &p.Resources[i]); err != nil {
			return nil, errors.New("resource " + p.Resources[i].token + ": " + err.Error())
		}
	}
	for i := range p.Functions {
		if err := s.addFunction(b, &p.Functions[i]); err != nil {
			return nil, errors.New("function " + p.Functions[i].token + ": " + err.Error())
		}
	}
	if err := s.addOthers(b, &p); err != nil {
		return nil, err
	}
	for _, r := range b.References() {
		if s.pkg.Resource(r.Token) == nil {
			return nil, errors.New("the field " + r.Field + " refers to the resource " + r.Token + ", which the package does not have")
		}
	}
	s.pkg.Types = b.Types()
	for _, t := range p.Types {
		at, exists := slices.BinarySearchFunc(s.pkg.Types, t.Token, func(t *schema.Object, token string) int {
			return strings.Compare(t.Token, token)
		})
		if exists {
			return nil, errors.New("type " + t.Token + ": it is declared twice")
		}
		s.pkg.Types = shape.Insert(s.pkg.Types, at, t)
	}
	return s, nil
}

func (s *server) addResource(b *shape.Builder, declared *Resource) error {
	if declared.code == nil {
		return errors.New("it was not made by guest.ResourceOf or guest.ResourceFrom")
	}
	if s.resources[declared.token] != nil {
		return errors.New("it is declared twice")
	}
	if err := checkToken(s.pkg.Name, declared.token); err != nil {
		return err
	}
	r, err := describe(b, declared)
	if err != nil {
		return err
	}
	for _, name := range [...]string{"id", "urn"} {
		if r.Outputs.Property(name) != nil {
			return errors.New(`its state must not have a property "` + name + `": every resource has one already`)
		}
	}
	at, _ := slices.BinarySearchFunc(s.pkg.Resources, r.Token, func(r *schema.Resource, token string) int {
		return strings.Compare(r.Token, token)
	})
	s.pkg.Resources = shape.Insert(s.pkg.Resources, at, r.Resource)
	s.resources[declared.token] = r
	return nil
}

// describe makes a resource of its types and of what implements it.
func describe(b *shape.Builder, declared *Resource) (*resource, error) {
	can := declared.can
	if err := checkMethods(declared.creator, can); err != nil {
		return nil, err
	}
	r := &resource{code: declared.code, can: can, lister: declared.lister}
	inputs, outputs, err := shapes(b, declared)
	if err != nil {
		return nil, err
	}
	r.inputs, r.state, r.copies = inputs, outputs, inputs.Copies()
	if r.Resource = declared.described; r.Resource == nil {
		r.Resource = &schema.Resource{
			Token: declared.token, Description: docs.Type(declared.about.description, reflect.TypeOf(declared.creator)),
			Deprecation: declared.about.deprecation, Aliases: declared.about.aliases,
			Inputs: *inputs.Object, Outputs: *outputs.Object,
			DeleteBeforeReplace: declared.about.deleteBeforeReplace, Identity: declared.about.identity,
		}
	}
	slices.Sort(r.Identity)
	for _, name := range r.Identity {
		if r.Inputs.Property(name) == nil {
			return nil, errors.New("its identity " + name + " is none of its inputs")
		}
	}
	name, _ := inputs.Autoname()
	r.SchemaCheck, r.SchemaDiff = !can.checks && name == "", !can.diffs
	if !can.updates {
		for i := range r.Inputs.Properties {
			r.Inputs.Properties[i].Replace = true
		}
	}
	return r, nil
}

// shapes are those of a resource's inputs and state.
func shapes(b *shape.Builder, declared *Resource) (inputs, state *shape.Shape, err error) {
	if d := declared.described; d != nil {
		if inputs, err = describedShape(&d.Inputs); err == nil {
			state, err = describedShape(&d.Outputs)
		}
	} else if inputs, err = b.Inputs(declared.inputs); err == nil {
		state, err = b.Outputs(declared.state)
	}
	return inputs, state, err
}

func (s *server) addFunction(b *shape.Builder, declared *Function) error {
	if declared.call == nil {
		return errors.New("it was not made by guest.FunctionOf or guest.FunctionFrom")
	}
	if s.functions[declared.token] != nil {
		return errors.New("it is declared twice")
	}
	if err := checkToken(s.pkg.Name, declared.token); err != nil {
		return err
	}
	args, result, err := functionShapes(b, declared)
	if err == nil {
		err = unnamed(args)
	}
	if err != nil {
		return err
	}
	described := declared.described
	if described == nil {
		described = &schema.Function{
			Token: declared.token, Description: declared.about.description, Deprecation: declared.about.deprecation,
			Args: *args.Object, Result: *result.Object,
		}
	}
	at, _ := slices.BinarySearchFunc(s.pkg.Functions, described.Token, func(f *schema.Function, token string) int {
		return strings.Compare(f.Token, token)
	})
	s.pkg.Functions = shape.Insert(s.pkg.Functions, at, described)
	s.functions[declared.token] = &function{described, args, result, declared.call}
	return nil
}

// unnamed refuses what is for the names of resources alone.
func unnamed(s *shape.Shape) error {
	if name, _ := s.Autoname(); name != "" {
		return errors.New(name + ": autoname is for the inputs of resources")
	}
	return nil
}

// functionShapes are those of a function's arguments and result.
func functionShapes(b *shape.Builder, declared *Function) (args, result *shape.Shape, err error) {
	if d := declared.described; d != nil {
		if args, err = describedShape(&d.Args); err == nil {
			result, err = describedShape(&d.Result)
		}
	} else if args, err = b.Inputs(declared.args); err == nil {
		result, err = b.Outputs(declared.result)
	}
	return args, result, err
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
