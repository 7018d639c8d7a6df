package adapter

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/guest-sdk/terraform"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/names"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// pkg is a provider's package, with the meaning of each token.
type pkg struct {
	schema.Package
	schemas   *tf.Schemas
	resources map[string]*resource
	functions map[string]*function
}

// resource is a type of resource.
type resource struct {
	*schema.Resource
	// name is the type in Terraform, for example random_pet.
	name string
	*tf.Schema
	// id names the attributes that make the ID.
	id []string
	// autonamed are the names that programs need not give.
	autonamed []autonamed
	// edition tells the version of the provider and the schema of the resource from others, see [resource.outdated].
	edition func() string
}

// function is a function, data source, ephemeral resource, or action of the provider.
type function struct {
	*schema.Function
	kind kind
	name string
	// source is the schema; nil for a function of the provider.
	source *tf.Schema
	called *calledFunction
}

// kind is the kind of a function in Terraform.
type kind uint8

const (
	isFunction kind = iota
	isDataSource
	isEphemeral
	isAction
)

// builder makes a package.
type builder struct {
	pkg     *pkg
	mapping terraform.Mapping
	// prefix is the prefix that names of types lose.
	prefix string
	types  map[string]*schema.Object
}

func newPackage(name, version string, schemas *tf.Schemas, mapping terraform.Mapping) (*pkg, error) {
	b := &builder{mapping: mapping, types: map[string]*schema.Object{}, pkg: &pkg{
		Package: schema.Package{Name: name, Version: version, Description: schemas.Provider.Description},
		schemas: schemas, resources: map[string]*resource{}, functions: map[string]*function{},
	}}
	b.prefix = b.commonPrefix()
	if err := errors.Join(
		unheardOf(&mapping, "resource", mapping.Resources, schemas.Resources),
		unheardOf(&mapping, "data source", mapping.DataSources, schemas.DataSources),
		unheardOf(&mapping, "function", mapping.Functions, schemas.Functions),
		unheardOf(&mapping, "ephemeral resource", mapping.Ephemerals, schemas.Ephemerals),
		unheardOf(&mapping, "action", mapping.Actions, schemas.Actions),
		b.config(), b.addResources(),
		b.addSources("data source", "get", schemas.DataSources, mapping.DataSources, isDataSource),
		b.addSources("ephemeral resource", "open", schemas.Ephemerals, mapping.Ephemerals, isEphemeral),
		b.addSources("action", "", schemas.Actions, mapping.Actions, isAction),
		b.addFunctions(),
	); err != nil {
		return nil, fmt.Errorf("the package %s: %w", name, err)
	}
	for _, token := range slices.Sorted(maps.Keys(b.types)) {
		b.pkg.Types = append(b.pkg.Types, b.types[token])
	}
	slices.SortFunc(b.pkg.Resources, func(a, b *schema.Resource) int { return cmp.Compare(a.Token, b.Token) })
	slices.SortFunc(b.pkg.Functions, func(a, b *schema.Function) int { return cmp.Compare(a.Token, b.Token) })
	return b.pkg, nil
}

// unheardOf refuses entries of the mapping that name nothing of the provider.
func unheardOf[M, S any](m *terraform.Mapping, what string, mapped map[string]M, has map[string]S) error {
	for _, name := range slices.Sorted(maps.Keys(mapped)) {
		if _, ok := has[name]; !ok && !m.Optional {
			return fmt.Errorf("the mapping names the %s %s, which the provider does not have", what, name)
		}
	}
	return nil
}

// commonPrefix returns the first word of the names of all types, with its
// underscore, or the prefix of the mapping.
func (b *builder) commonPrefix() string {
	if b.mapping.Prefix != nil {
		return *b.mapping.Prefix
	}
	prefix := ""
	for _, all := range []map[string]*tf.Schema{b.pkg.schemas.Resources, b.pkg.schemas.DataSources, b.pkg.schemas.Ephemerals, b.pkg.schemas.Actions} {
		for name := range all {
			word, _, _ := strings.Cut(name, "_")
			if prefix != "" && prefix != word+"_" {
				return ""
			}
			prefix = word + "_"
		}
	}
	return prefix
}

// token returns the token of a resource or function with a name in Pascal case, or in camel case after
// get, unless the mapping has one.
func (b *builder) token(tfName, name, mapped, whole string) (token, module, last string, err error) {
	if whole != "" {
		parts := strings.Split(whole, ":")
		if len(parts) != 3 || parts[0] != b.pkg.Name {
			return "", "", "", fmt.Errorf("%s: the mapping has the token %s, and %s:MODULE:NAME is needed", tfName, whole, b.pkg.Name)
		}
		module, _, _ = strings.Cut(parts[1], "/")
		return whole, module, parts[2], nil
	}
	module = "index"
	longest := ""
	for prefix, m := range b.mapping.Modules {
		if strings.HasPrefix(tfName, prefix) && len(prefix) > len(longest) {
			module, longest = m, prefix
		}
	}
	name = cmp.Or(mapped, name)
	return b.pkg.Name + ":" + module + "/" + strings.ToLower(name[:1]) + name[1:] + ":" + name, module, name, nil
}

// short returns the name of a type without the prefix.
func (b *builder) short(name string) string {
	if short := strings.TrimPrefix(name, b.prefix); short != "" {
		return short
	}
	return name
}

func (b *builder) config() error {
	s := b.pkg.schemas.Provider
	if err := b.name(s.Attributes, b.mapping.Config, "the configuration"); err != nil {
		return err
	}
	b.pkg.Config = schema.Object{Description: s.Description, Properties: b.properties(s.Attributes, b.pkg.Name+":index/Provider", "Provider", inputs)}
	return nil
}

// published returns the package as its schema tells it, in which the configuration has nothing that is required. The plugin SDK
// reports settings without a default from the environment as required, but the schema describes the module, whatever variables an
// instance has. So CheckConfig reports missing settings.
func (p *pkg) published() *schema.Package {
	published := p.Package
	published.Config.Properties = slices.Clone(p.Config.Properties)
	for i := range published.Config.Properties {
		published.Config.Properties[i].Required = false
	}
	return &published
}

func (b *builder) addResources() error {
	for _, name := range slices.Sorted(maps.Keys(b.pkg.schemas.Resources)) {
		s, m := b.pkg.schemas.Resources[name], b.mapping.Resources[name]
		token, module, last, err := b.token(name, names.Pascal(b.short(name)), m.Name, m.Token)
		if err != nil {
			return err
		}
		hideTimeouts(s.Attributes)
		if err := b.name(s.Attributes, reserve(s.Attributes, m.Fields, b.short(name)), "the resource "+name); err != nil {
			return err
		}
		for _, attribute := range slices.Concat(m.ID, m.Identity) {
			if s.Attributes.Get(attribute) == nil {
				return fmt.Errorf("the resource %s: the mapping makes the ID or identity of %s, which is none of its attributes", name, attribute)
			}
		}
		prefix := b.pkg.Name + ":" + module + "/" + last
		r := &resource{
			name: name, Schema: s, id: m.ID,
			Resource: &schema.Resource{
				Token: token, Aliases: m.Aliases, Description: s.Description, Deprecation: s.Deprecation,
				Identity: identity(s, m.Identity),
				Inputs:   schema.Object{Properties: b.properties(s.Attributes, prefix, last, inputs)},
				Outputs:  schema.Object{Properties: b.properties(s.Attributes, prefix, last, outputs)},
			},
		}
		if r.autonamed, err = b.autonames(r, m.Autoname); err != nil {
			return fmt.Errorf("the resource %s: %w", name, err)
		}
		r.edition = sync.OnceValue(func() string { return edition(b.pkg.Version, s) })
		// A resource without an ID of its own has its name as ID, so that its replacement has the same.
		r.DeleteBeforeReplace = len(r.Resource.Identity) == 0 || s.Attributes.Get("id") == nil && len(m.ID) == 0
		if m.DeleteBeforeReplace != nil {
			r.DeleteBeforeReplace = *m.DeleteBeforeReplace
		}
		if other := b.pkg.resources[token]; other != nil {
			return fmt.Errorf("the resources %s and %s both have the token %s; name one of them in a mapping", other.name, name, token)
		}
		b.pkg.resources[token] = r
		b.pkg.Resources = append(b.pkg.Resources, r.Resource)
	}
	return nil
}

// identity returns the inputs by which the service knows the object of a resource, sorted.
func identity(s *tf.Schema, mapped []string) []string {
	attributes := mapped
	if declared, ok := s.Identity.(tftypes.Object); ok && len(attributes) == 0 {
		attributes = slices.Collect(maps.Keys(declared.AttributeTypes))
	}
	if len(attributes) == 0 {
		attributes = []string{"name"}
	}
	var names []string
	for _, name := range attributes {
		if a := s.Attributes.Get(name); a != nil && a.Settable() && !(name == "id" && isID(a)) {
			names = append(names, a.Property)
		}
	}
	slices.Sort(names)
	return names
}

// addSources adds data sources, ephemeral resources, or actions, whose names begin with a verb, if there is
// one.
func (b *builder) addSources(what, verb string, schemas map[string]*tf.Schema, mapped map[string]terraform.Function, k kind) error {
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		s, m := schemas[name], mapped[name]
		given := names.Camel(b.short(name))
		if verb != "" {
			given = verb + names.Pascal(b.short(name))
		}
		token, module, last, err := b.token(name, given, m.Name, m.Token)
		if err != nil {
			return err
		}
		hideTimeouts(s.Attributes)
		if err := b.name(s.Attributes, m.Fields, "the "+what+" "+name); err != nil {
			return err
		}
		prefix := b.pkg.Name + ":" + module + "/" + last
		f := &schema.Function{
			Token: token, Description: s.Description, Deprecation: s.Deprecation, Ephemeral: k == isEphemeral, Action: k == isAction,
			Args: schema.Object{Properties: b.properties(s.Attributes, prefix, last, inputs)},
		}
		if k != isAction {
			f.Result.Properties = b.properties(s.Attributes, prefix, last, results)
		}
		if err := b.addFunction(&function{kind: k, name: name, source: s, Function: f}); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) addFunction(f *function) error {
	if other := b.pkg.functions[f.Token]; other != nil {
		return fmt.Errorf("%s and %s both have the token %s; name one of them in a mapping", other.name, f.name, f.Token)
	}
	b.pkg.functions[f.Token] = f
	b.pkg.Functions = append(b.pkg.Functions, f.Function)
	return nil
}

// operations are the names in a block of timeouts.
var operations = []string{"create", "read", "update", "delete", "default"}

// hideTimeouts hides the block timeouts, for which programs have the option customTimeouts.
func hideTimeouts(s *tf.Attributes) {
	a := s.Get("timeouts")
	if a == nil || !a.Block || a.Type.Kind != tf.Object {
		return
	}
	for _, of := range a.Type.Object.List {
		if !slices.Contains(operations, of.Name) || of.Type.Kind != tf.String {
			return
		}
	}
	a.Hidden = true
}

// reserve adds to the fields of a resource names for attributes whose own name is taken: each resource
// has an id and a urn.
func reserve(s *tf.Attributes, fields map[string]terraform.Field, resource string) map[string]terraform.Field {
	for _, name := range []string{"id", "urn"} {
		a := s.Get(name)
		if a == nil || fields[name].Name != "" || name == "id" && isID(a) {
			continue
		}
		fields = maps.Clone(fields)
		if fields == nil {
			fields = map[string]terraform.Field{}
		}
		f := fields[name]
		f.Name = names.Camel(resource + "_" + name)
		fields[name] = f
	}
	return fields
}

// isID reports whether an attribute id is the resource's ID alone, and no input.
func isID(a *tf.Attribute) bool { return a.Computed }

// name gives the attributes the names and shapes of properties.
func (b *builder) name(s *tf.Attributes, mapped map[string]terraform.Field, where string) error {
	for _, name := range slices.Sorted(maps.Keys(mapped)) {
		if s.Get(name) == nil && !b.mapping.Optional {
			return fmt.Errorf("%s: the mapping names the field %s, which the provider does not have", where, name)
		}
	}
	for _, a := range s.List {
		m := mapped[a.Name]
		list := a.Type.Kind == tf.List || a.Type.Kind == tf.Set
		a.Flat = list && a.MaxItems == 1
		switch {
		case m.MaxItemsOne != nil && list:
			a.Flat = *m.MaxItemsOne
		case m.MaxItemsOne != nil && !b.mapping.Optional:
			return fmt.Errorf("%s: the mapping sets maxItemsOne of %s, which is neither a list nor a set", where, a.Name)
		}
		if m.Secret != nil {
			a.Sensitive = *m.Secret
		}
		a.Property = cmp.Or(m.Name, names.Camel(a.Name))
		if plural := names.Plural(a.Name); m.Name == "" && list && !a.Flat && (s.Get(plural) == nil || mapped[plural].Name != "") {
			a.Property = names.Camel(plural)
		}
		if nested := objectIn(a.Type); nested != nil {
			if err := b.name(nested, m.Fields, where+", "+a.Name); err != nil {
				return err
			}
		} else if len(m.Fields) > 0 && !b.mapping.Optional {
			return fmt.Errorf("%s: the mapping has fields of %s, which is not an object", where, a.Name)
		}
	}
	if x, y := s.IndexProperties(); x != nil {
		return fmt.Errorf("%s: %s and %s both become the property %s; name one of them in a mapping", where, x.Name, y.Name, x.Property)
	}
	return nil
}

// objectIn returns the attributes of the objects in a type, or nil.
func objectIn(t *tf.Type) *tf.Attributes {
	for t.Element != nil {
		t = t.Element
	}
	return t.Object
}

// role is the purpose of properties.
type role uint8

const (
	inputs  role = iota
	outputs      // of a resource, which has an ID beside
	results      // of a function
	parts        // of an object in inputs or outputs
)

// properties returns the properties of attributes. Types of objects in them begin with prefix, and have
// names that begin with name.
func (b *builder) properties(s *tf.Attributes, prefix, name string, r role) []schema.Property {
	var list []schema.Property
	for _, a := range s.List {
		if a.Hidden || r == inputs && (!a.Settable() || a.Name == "id" && isID(a)) || r == outputs && (a.WriteOnly || a.Name == "id" && isID(a)) ||
			r == results && a.WriteOnly {
			continue
		}
		typ, one := a.Type, names.Pascal(a.Name)
		if typ.Kind == tf.List || typ.Kind == tf.Set {
			one = names.Pascal(names.Singular(a.Name))
		}
		if a.Flat {
			typ = typ.Element
		}
		p := schema.Property{
			Name: a.Property, Type: b.typeOf(typ, prefix+one, name+one),
			Description: a.Description, Deprecation: a.Deprecation, Secret: a.Sensitive || a.WriteOnly, Required: a.Required,
		}
		p.WriteOnly = a.WriteOnly && r != results
		p.Computed = r == inputs && a.Computed
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b schema.Property) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

func (b *builder) typeOf(t *tf.Type, prefix, name string) *schema.Type {
	switch t.Kind {
	case tf.Bool:
		return &schema.Type{Kind: schema.KindBool}
	case tf.Number:
		return &schema.Type{Kind: schema.KindNumber}
	case tf.String:
		return &schema.Type{Kind: schema.KindString}
	case tf.List, tf.Set:
		return &schema.Type{Kind: schema.KindArray, Element: b.typeOf(t.Element, prefix, name)}
	case tf.Map:
		return &schema.Type{Kind: schema.KindMap, Element: b.typeOf(t.Element, prefix, name)}
	case tf.Object:
		token := prefix + ":" + name
		if b.types[token] == nil {
			b.types[token] = &schema.Object{Token: token}
			b.types[token].Properties = b.properties(t.Object, prefix, name, parts)
		}
		return &schema.Type{Kind: schema.KindObject, Object: b.types[token]}
	case tf.Tuple:
		return &schema.Type{Kind: schema.KindArray, Element: &schema.Type{}}
	}
	return &schema.Type{}
}

// idOf returns the ID of a resource with a state, empty if it is not known yet.
func (r *resource) idOf(state property.Map, name string) string {
	if len(r.id) == 0 {
		a := r.Attributes.Get("id")
		if a == nil {
			return name
		}
		return cmp.Or(idText(state.Get(a.Property)), unknownOr(state.Get(a.Property), name))
	}
	var values []string
	for _, id := range r.id {
		part := idText(state.Get(r.Attributes.Get(id).Property))
		if part == "" {
			return unknownOr(state.Get(r.Attributes.Get(id).Property), name)
		}
		values = append(values, part)
	}
	return strings.Join(values, "/")
}

// unknownOr returns "" for an unknown value, and else the name of the resource, for one that has no ID.
func unknownOr(v property.Value, name string) string {
	if v.Plain().IsUnknown() {
		return ""
	}
	return name
}

func idText(v property.Value) string {
	v = v.Plain()
	if s, ok := v.AsString(); ok {
		return s
	}
	if v.IsNull() || v.IsUnknown() {
		return ""
	}
	return v.String()
}
