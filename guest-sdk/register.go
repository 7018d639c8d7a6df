package guest

import (
	"errors"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/guest-sdk/internal/shape"
)

func register(p Provider) (*server, error) {
	if p.Name == "" || p.Version == "" {
		return nil, errors.New("its name and version must not be empty")
	}
	s := &server{
		pkg: &schema.Package{
			Name: p.Name, Version: p.Version, DisplayName: p.DisplayName, Description: p.Description,
			Keywords: p.Keywords, Homepage: p.Homepage, License: p.License, Repository: p.Repository,
			Publisher: p.Publisher,
		},
		resources: map[string]*resource{},
		functions: map[string]*function{},
		close:     p.Close,
	}
	b := &shape.Builder{Package: p.Name}
	if p.Config.configure != nil {
		var err error
		if s.config, err = b.Inputs(p.Config.typ); err != nil {
			return nil, errors.New("configuration: " + err.Error())
		}
		s.configure = p.Config.configure
		s.pkg.Config = *s.config.Object
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
	s.pkg.Types = b.Types()
	return s, nil
}

func (s *server) addResource(b *shape.Builder, declared *Resource) error {
	if declared.code == nil {
		return errors.New("it was not made by guest.ResourceOf")
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
	r := &resource{code: declared.code, can: can}
	var err error
	if r.inputs, err = b.Inputs(declared.inputs); err != nil {
		return nil, err
	}
	if r.state, err = b.Outputs(declared.state); err != nil {
		return nil, err
	}
	r.Resource = &schema.Resource{
		Token: declared.token, Description: declared.about.description,
		Deprecation: declared.about.deprecation, Aliases: declared.about.aliases,
		Inputs: *r.inputs.Object, Outputs: *r.state.Object,
		DeleteBeforeReplace: declared.about.deleteBeforeReplace,
		SchemaCheck:         !can.checks,
		SchemaDiff:          !can.diffs,
	}
	if !can.updates {
		for i := range r.Inputs.Properties {
			r.Inputs.Properties[i].Replace = true
		}
	}
	return r, nil
}

func (s *server) addFunction(b *shape.Builder, declared *Function) error {
	if declared.call == nil {
		return errors.New("it was not made by guest.FunctionOf")
	}
	if s.functions[declared.token] != nil {
		return errors.New("it is declared twice")
	}
	if err := checkToken(s.pkg.Name, declared.token); err != nil {
		return err
	}
	args, err := b.Inputs(declared.args)
	if err != nil {
		return err
	}
	result, err := b.Outputs(declared.result)
	if err != nil {
		return err
	}
	described := &schema.Function{
		Token: declared.token, Description: declared.about.description, Deprecation: declared.about.deprecation,
		Args: *args.Object, Result: *result.Object,
	}
	at, _ := slices.BinarySearchFunc(s.pkg.Functions, described.Token, func(f *schema.Function, token string) int {
		return strings.Compare(f.Token, token)
	})
	s.pkg.Functions = shape.Insert(s.pkg.Functions, at, described)
	s.functions[declared.token] = &function{described, args, result, declared.call}
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
