package tfstate

import (
	"fmt"
	"strings"

	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/internal/base/intake"
)

// Mapping is a provider's answer to get-mapping for terraform, in the format of Pulumi's bridge.
type Mapping struct {
	Resources map[string]MappedType `json:"resources"`
	Provider  struct {
		Resources map[string]map[string]*attribute `json:"resources"`
	} `json:"provider"`
}

// MappedType is how a provider calls a type of Terraform.
type MappedType struct {
	Token  string            `json:"tok"`
	Fields map[string]*field `json:"fields"`
	// ID names the attributes that make the ID, joined by "/"; none are the attribute id.
	ID []string `json:"id"`

	schema map[string]*attribute
}

// attribute is the schema of an attribute in Terraform.
type attribute struct {
	Optional bool `json:"optional"`
	Required bool `json:"required"`
	Computed bool `json:"computed"`
	Element  *struct {
		Schema   *attribute            `json:"schema"`
		Resource map[string]*attribute `json:"resource"`
	} `json:"element"`
}

// inner are the attributes of the objects that the attribute is or holds.
func (a *attribute) inner() map[string]*attribute {
	for a != nil && a.Element != nil {
		if a.Element.Resource != nil {
			return a.Element.Resource
		}
		a = a.Element.Schema
	}
	return nil
}

// isOutput reports whether only the provider sets the attribute.
func (a *attribute) isOutput() bool { return a != nil && a.Computed && !a.Optional && !a.Required }

// field is how a provider calls an attribute.
type field struct {
	Name        string            `json:"name"`
	MaxItemsOne *bool             `json:"maxItemsOne"`
	Element     *field            `json:"element"`
	Fields      map[string]*field `json:"fields"`
}

// ParseMapping reads a mapping.
func ParseMapping(data []byte) (*Mapping, error) {
	var m Mapping
	if err := decode(data, &m, intake.Allowance); err != nil {
		return nil, fmt.Errorf("its mapping of Terraform's names cannot be read: %w", err)
	}
	return &m, nil
}

// inner are the fields of the objects that the attribute is or holds.
func (f *field) inner() map[string]*field {
	if f == nil {
		return nil
	}
	if f.Fields == nil && f.Element != nil {
		return f.Element.inner()
	}
	return f.Fields
}

// Known is a provider of the project.
type Known struct {
	// Name is the package's name in the project.
	Name   string
	Schema *schema.Package
	// Mapping is nil for a provider without one: names of types and attributes are found by the schema's names.
	Mapping *Mapping
}

// find returns the type for a resource, nil if the provider has none.
func (k *Known) find(r *Resource) (*schema.Resource, *MappedType) {
	if k.Mapping != nil {
		m, ok := k.Mapping.Resources[r.Type]
		if !ok || k.Schema == nil {
			return nil, nil
		}
		m.schema = k.Mapping.Provider.Resources[r.Type]
		return k.Schema.ResolveResource(m.Token), &m
	}
	if k.Schema == nil || r.Provider.Name() != k.Name {
		return nil, nil
	}
	_, short, _ := strings.Cut(r.Type, "_")
	var found *schema.Resource
	for _, candidate := range k.Schema.Resources {
		name := squeezed(candidate.Token[strings.LastIndexByte(candidate.Token, ':')+1:])
		switch {
		case candidate.Component || name != squeezed(short) && name != squeezed(r.Type):
			continue
		case found != nil:
			return nil, nil
		}
		found = candidate
	}
	return found, nil
}

// squeezed returns the common form of names in camel case and with underscores.
func squeezed(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// property returns the property for an attribute that no mapping names, nil if an object has none. A list has its
// name in the plural.
func propertyFor(o *schema.Object, attribute string) *schema.Property {
	if o == nil {
		return nil
	}
	wanted := squeezed(attribute)
	forms := []string{wanted, wanted + "s", wanted + "es", strings.TrimSuffix(wanted, "y") + "ies"}
	for _, form := range forms {
		for i := range o.Properties {
			if squeezed(o.Properties[i].Name) == form {
				return &o.Properties[i]
			}
		}
	}
	return nil
}

// camel returns a name with underscores in camel case.
func camel(name string) string {
	var b strings.Builder
	upper := false
	for i, c := range []byte(name) {
		if c == '_' && i > 0 && i < len(name)-1 {
			upper = true
			continue
		}
		if upper && 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		upper = false
		b.WriteByte(c)
	}
	return b.String()
}

// snake returns a name in camel case with underscores, as the ported providers derive it from a property.
func snake(name string) string {
	var b strings.Builder
	for i, c := range []byte(name) {
		if 'A' <= c && c <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return b.String()
}
