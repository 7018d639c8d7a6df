package adapter

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/internal/autoname"
	"github.com/husk-dev/husk/guest-sdk/terraform"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// defaultSeparator and defaultLength apply to all names in packages of Pulumi's bridge.
const (
	defaultSeparator = "-"
	defaultLength    = 255
)

// autonamed is an attribute that is the name of a resource.
type autonamed struct {
	*tf.Attribute
	form autoname.Form
	// always gives each new resource a name. Otherwise a resource only keeps one that it got from Pulumi's package.
	always bool
}

// autonames returns the attributes of a resource that are names, and has programs leave them out. As with Pulumi's bridge, that
// is the attribute name if it is text. Pulumi's bridge names a resource with an optional name, too, which Terraform leaves
// without.
func (b *builder) autonames(r *resource, mapped map[string]terraform.Autoname) ([]autonamed, error) {
	mapped = maps.Clone(mapped)
	if _, ok := mapped["name"]; !ok && isNamed(r, "name") {
		if mapped == nil {
			mapped = map[string]terraform.Autoname{}
		}
		var m terraform.Autoname
		if b.mapping.Autoname != nil {
			m = *b.mapping.Autoname
		}
		m.Optional = m.Optional || !r.Attributes.Get("name").Required
		mapped["name"] = m
	}
	var list []autonamed
	for _, name := range slices.Sorted(maps.Keys(mapped)) {
		m := mapped[name]
		switch {
		case !isNamed(r, name) && b.mapping.Optional:
			continue
		case !isNamed(r, name):
			return nil, fmt.Errorf("the mapping has names made up for %s, which is not a text that programs set", name)
		case m.Off:
			continue
		}
		a := autonamed{
			Attribute: r.Attributes.Get(name), always: !m.Optional,
			form: autoname.Form{Separator: defaultSeparator, Longest: cmp.Or(m.MaxLength, defaultLength), Lower: m.Lower},
		}
		if m.Separator != nil {
			a.form.Separator = *m.Separator
		}
		if shortest := autoname.Shortest(a.form.Separator); a.form.Longest < shortest {
			return nil, fmt.Errorf("the mapping allows %d characters for %s, and names that are made up have %d or more", a.form.Longest, name, shortest)
		}
		if input := r.Inputs.Property(a.Property); a.always {
			input.Required, input.Computed = false, true
		}
		list = append(list, a)
	}
	return list, nil
}

// isNamed reports whether an attribute can be a name: text that programs set and states have.
func isNamed(r *resource, name string) bool {
	a := r.Attributes.Get(name)
	return a != nil && a.Type.Kind == tf.String && !a.WriteOnly && !a.Hidden && r.Inputs.Property(a.Property) != nil
}

// autoname gives a resource the names that its program leaves out. It keeps existing ones.
func (r *resource) autoname(request *abi.CheckRequest, inputs property.Map) (property.Map, []abi.CheckFailure) {
	var failed []abi.CheckFailure
	for _, a := range r.autonamed {
		if !inputs.Get(a.Property).Plain().IsNull() {
			continue
		}
		if request.Olds != nil {
			old := request.Olds.Get(a.Property)
			text, _ := old.Unwrap().AsString()
			if a.always && !old.Plain().IsNull() || autoname.LooksMadeUp(request, a.form, text) {
				inputs = inputs.With(a.Property, old)
				continue
			}
		}
		if !a.always {
			continue
		}
		name, refused := autoname.For(request, a.form)
		if refused != "" {
			failed = append(failed, abi.CheckFailure{Path: a.Property, Reason: refused})
			continue
		}
		v := property.String(name)
		if a.Sensitive {
			v = property.Secret(v)
		}
		inputs = inputs.With(a.Property, v)
	}
	return inputs, failed
}
