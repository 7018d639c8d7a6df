// Package providerdocs writes the documentation of a package from its schema: for a terminal, as Markdown, and as HTML.
package providerdocs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// field is a property as it is shown.
type field struct {
	name, typ, text string
	// marks are further facts: required, secret, replaces, default 3.
	marks []string
}

// fields returns the properties of an object, required ones first. inputs says whether programs set them.
func fields(o *schema.Object, inputs bool) []field {
	var required, optional []field
	for i := range o.Properties {
		p := &o.Properties[i]
		f := field{name: p.Name, typ: typeName(p.Type), text: oneParagraph(p.Description)}
		mark := func(is bool, text string) {
			if is {
				f.marks = append(f.marks, text)
			}
		}
		mark(inputs && p.Required && !p.HasDefault(), "required")
		mark(inputs && p.HasDefault(), "default "+scalar(p.Default))
		mark(p.Secret, "secret")
		mark(p.WriteOnly, "never recorded")
		mark(p.Replace, "a change replaces the resource")
		mark(inputs && p.Computed, "chosen by the provider if missing")
		mark(!p.Const.IsNull(), "always "+scalar(p.Const))
		mark(len(p.OneOf) > 0, "one of "+scalars(p.OneOf))
		mark(p.Minimum != nil, "at least "+number(p.Minimum))
		mark(p.Maximum != nil, "at most "+number(p.Maximum))
		mark(p.Deprecation != "", "deprecated: "+oneParagraph(p.Deprecation))
		if inputs && p.Required && !p.HasDefault() {
			required = append(required, f)
		} else {
			optional = append(optional, f)
		}
	}
	return append(required, optional...)
}

func number(f *float64) string {
	if f == nil {
		return ""
	}
	return property.Render(property.Number(*f))
}

func scalars(values []property.Value) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = scalar(v)
	}
	return strings.Join(texts, ", ")
}

// typeName returns a type for people: string, list of string, map of integer, tls:Subject.
func typeName(t *schema.Type) string {
	switch {
	case t == nil:
		return "any"
	case t.Kind == schema.KindArray:
		return "list of " + typeName(t.Element)
	case t.Kind == schema.KindMap:
		return "map of " + typeName(t.Element)
	case t.Kind == schema.KindObject && t.Object.Token != "":
		return schema.ShortToken(t.Object.Token)
	case t.Kind == schema.KindEnum && len(t.Values) > 0:
		return "one of " + scalars(t.Values)
	case t.Kind == schema.KindResource && t.Token != "":
		return "a resource " + schema.ShortToken(t.Token)
	case t.Kind == schema.KindUnion:
		var names []string
		for _, one := range t.OneOf {
			if name := typeName(one); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return strings.Join(names, " or ")
	case t.Kind == schema.KindAny:
		return "any"
	}
	return t.String()
}

// oneParagraph returns a text in one line, without the examples of Pulumi's documents.
func oneParagraph(text string) string {
	text, _, _ = strings.Cut(text, "{{% examples %}}")
	return strings.Join(strings.Fields(text), " ")
}

// objects returns the types of objects that the properties of objects have, by name, themselves included.
func objects(of ...*schema.Object) []*schema.Object {
	var out []*schema.Object
	var walkType func(t *schema.Type)
	walk := func(o *schema.Object) {
		for i := range o.Properties {
			walkType(o.Properties[i].Type)
		}
	}
	walkType = func(t *schema.Type) {
		if t == nil {
			return
		}
		walkType(t.Element)
		for _, one := range t.OneOf {
			walkType(one)
		}
		if t.Kind == schema.KindObject && t.Object != nil && !slices.Contains(out, t.Object) {
			if t.Object.Token != "" {
				out = append(out, t.Object)
			}
			walk(t.Object)
		}
	}
	for _, o := range of {
		walk(o)
	}
	slices.SortFunc(out, func(a, b *schema.Object) int { return strings.Compare(a.Token, b.Token) })
	return out
}

// isMethod reports whether a function is the method of a resource, which programs in YAML cannot call.
func isMethod(f *schema.Function) bool { return f.Args.Property("__self__") != nil }

// functions returns the functions of a package that are not methods.
func functions(p *schema.Package) []*schema.Function {
	return slices.DeleteFunc(slices.Clone(p.Functions), isMethod)
}

// kindOf says what a function is.
func kindOf(f *schema.Function) string {
	switch {
	case isMethod(f):
		return "method"
	case f.Action:
		return "action"
	case f.Ephemeral:
		return "ephemeral function"
	case f.Streams:
		return "function that streams its results"
	default:
		return "function"
	}
}

// firstSentence returns the beginning of a description, for lists.
func firstSentence(text string) string {
	text = oneParagraph(text)
	if i := strings.Index(text, ". "); i >= 0 {
		text = text[:i+1]
	}
	const most = 120
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return text
}

// Title returns the title of the documentation of a package.
func Title(p *schema.Package) string {
	name := p.DisplayName
	if name == "" {
		name = p.Name
	}
	if p.Version != "" {
		name += " " + p.Version
	}
	return name
}

// NotFoundError says that a package has no resource type or function of a name.
type NotFoundError struct{ Package, Name, Near string }

// Error names the nearest one.
func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("the package %s has no resource type or function %s", e.Package, e.Name)
	if e.Near != "" {
		text += fmt.Sprintf("; did you mean %s?", e.Near)
	}
	return text
}

// Only returns a package with one of its resources or functions, which a user names with or without the package.
func Only(p *schema.Package, name string) (*schema.Package, error) {
	r, f, err := find(p, name)
	if err != nil {
		return nil, err
	}
	only := *p
	only.Resources, only.Functions = nil, nil
	if r != nil {
		only.Resources = []*schema.Resource{r}
	} else {
		only.Functions = []*schema.Function{f}
	}
	return &only, nil
}

// find returns the resource or function that a user names, with or without the package.
func find(p *schema.Package, name string) (*schema.Resource, *schema.Function, error) {
	token := name
	if !strings.Contains(token, ":") {
		token = p.Name + ":" + token
	}
	if r := p.ResolveResource(token); r != nil {
		return r, nil, nil
	}
	if f := p.ResolveFunction(token); f != nil {
		return nil, f, nil
	}
	for _, r := range p.Resources { // the name alone, wherever it is
		if strings.EqualFold(r.Token[strings.LastIndexByte(r.Token, ':')+1:], name) {
			return r, nil, nil
		}
	}
	for _, f := range p.Functions {
		if strings.EqualFold(f.Token[strings.LastIndexByte(f.Token, ':')+1:], name) {
			return nil, f, nil
		}
	}
	near := p.NearestResource(token)
	if near == "" {
		near = p.NearestFunction(token)
	}
	return nil, nil, &NotFoundError{p.Name, name, near}
}
