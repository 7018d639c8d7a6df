package schema

import (
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// ResourceToken returns the token of the resources that a type of references accepts, without the
// document of another package. It is empty if any resource is accepted.
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

// acceptsReference reports whether t accepts the reference v. A reference without a type is accepted.
func acceptsReference(t *Type, v property.Value) bool {
	r, ok := v.AsReference()
	if !ok || t.Kind != KindResource {
		return false
	}
	want, got := t.ResourceToken(), urn.URN(r.URN).Type()
	return want == "" || got == "" || got == want
}

// reference checks a reference, which is text, an ID or URN, if the caller has lowered it.
func (c *checker) reference(t *Type, v property.Value) {
	r, ok := v.AsReference()
	switch {
	case v.Kind() == property.KindString:
	case !ok:
		c.mismatch(t, v)
	case !c.fromProvider && !acceptsReference(t, v): // what exists may be of a type from before a renaming
		c.fail("expected " + t.String() + ", got a resource of type " + urn.URN(r.URN).Type())
	}
}
