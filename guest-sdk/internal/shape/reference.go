package shape

import (
	"errors"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// referenceOf returns a value as a reference. Text is the URN of a component, or the ID of another
// resource with an unknown URN.
func referenceOf(v property.Value) (property.ResourceReference, bool) {
	text, ok := v.AsString()
	switch {
	case !ok:
		return v.AsReference()
	case strings.HasPrefix(text, "urn:pulumi:"):
		return property.ResourceReference{URN: text}, true
	}
	return property.ResourceReference{HasID: true, ID: text}, true
}

// storedReference is the reverse of referenceOf. A reference without a URN is text; without an ID, too,
// it is null.
func storedReference(r property.ResourceReference) property.Value {
	switch {
	case r.URN != "":
		return property.Reference(r)
	case r.HasID:
		return r.Text()
	}
	return property.Null
}

// References returns the tokens of own resources that tags refer to, with the fields.
func (b *Builder) References() []Reference { return b.references }

// Reference is a field that refers to a type of resource.
type Reference struct{ Field, Token string }

// referring returns t, the type of a field, with references to a type of resource: a token of this
// package, or the place in the schema of another one.
func (b *Builder) referring(t *schema.Type, to string) (*schema.Type, error) {
	switch t.Kind {
	case schema.KindArray, schema.KindMap:
		element, err := b.referring(t.Element, to)
		return &schema.Type{Kind: t.Kind, Element: element}, err
	case schema.KindResource:
	default:
		return nil, errors.New("resource=: only a property.ResourceReference, or a slice or map of them, can have it")
	}
	pkg, rest, _ := strings.Cut(to, ":")
	switch {
	case strings.HasPrefix(to, "/") && strings.Contains(to, "/schema.json#/resources/"):
	case pkg == b.Package && strings.Count(rest, ":") == 1:
	default:
		return nil, errors.New("resource=" + to + ": write a token of the package " + b.Package +
			", or /<package>/v<version>/schema.json#/resources/<token> for one of another package")
	}
	return &schema.Type{Kind: schema.KindResource, Token: to}, nil
}
