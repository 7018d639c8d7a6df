package shape

import (
	"errors"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// referenceOf returns the reference that a value is. A caller that does not know
// references gives text: the URN of a component, or the ID of another resource, whose
// URN then is not known.
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

// storedReference returns the reverse of referenceOf: without a URN there is no reference,
// but text; without an ID either there is nothing.
func storedReference(r property.ResourceReference) property.Value {
	switch {
	case r.URN != "":
		return property.Reference(r)
	case r.HasID:
		return r.Text()
	}
	return property.Null
}

// References returns the tokens of this package's own resources that tags refer to, each
// with the field that does.
func (b *Builder) References() []Reference { return b.references }

// Reference is a field that refers to a type of resource.
type Reference struct{ Field, Token string }

// referring returns t, the type of a field, with the references in it being to
// resources of a type: a token of this package, or what another package's document
// has for it.
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
