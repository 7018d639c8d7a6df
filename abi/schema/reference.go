package schema

import (
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// ResourceToken returns the token of the resources that a type of references asks for:
// that of the type, without the document that it stands in where that is another
// package's. It is empty where any resource will do.
func (t *Type) ResourceToken() string {
	_, fragment, foreign := strings.Cut(t.Token, "#")
	if !foreign {
		return t.Token
	}
	token, ok := strings.CutPrefix(fragment, "/resources/")
	if !ok {
		return "" // any resource, or a package's provider
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "%2F", "/"), "%2f", "/")
}

// takesReference reports whether t is the type of references such as v, as far as v
// tells what it refers to.
func takesReference(t *Type, v property.Value) bool {
	r, ok := v.AsReference()
	if !ok || t.Kind != KindResource {
		return false
	}
	want, got := t.ResourceToken(), urn.URN(r.URN).Type()
	return want == "" || got == "" || got == want
}

// reference checks a reference. Text stands for one where the caller has made
// references plainer: it is the ID, or the URN of a component.
func (c *checker) reference(t *Type, v property.Value) {
	r, ok := v.AsReference()
	switch {
	case v.Kind() == property.KindString:
	case !ok:
		c.mismatch(t, v)
	case !c.answered && !takesReference(t, v): // what exists may be of a type from before a renaming
		c.fail("expected " + t.String() + ", got a resource of type " + urn.URN(r.URN).Type())
	}
}
