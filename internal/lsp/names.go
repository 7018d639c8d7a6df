package lsp

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/expr"
	"github.com/husk-dev/husk/engine/program/source"
)

// The sections of a program, which are the kinds of its names.
const (
	resources = "resources"
	variables = "variables"
	actions   = "actions"
	outputs   = "outputs"
	// configs is for the keys of config.
	configs = "config"
)

// sections are the sections of a program that declare names, and configSections the names of the section of the configuration.
var sections, configSections = []string{resources, variables, actions, outputs}, []string{configs, "configuration"}

// declaresNames reports whether a section declares names.
func declaresNames(section string) bool {
	return slices.Contains(sections, section) || slices.Contains(configSections, section)
}

// declaration is a name of a program.
type declaration struct {
	section, name string
	tree          *tree
	key, value    *yaml.Node
}

// typeToken returns the type of a resource as it is written, empty for other names.
func (d *declaration) typeToken() string {
	if d.section != resources {
		return ""
	}
	return text(fieldAt(d.value, "type"))
}

// reference is a use of a name: ${name.path}.
type reference struct {
	*expr.Access
	// parts are the ranges of the name and of the segments of the path.
	parts []span
	// action marks a reference in the option actions.
	action bool
}

// names has the declarations of a program, and their uses.
type names struct {
	all        []*declaration
	references []reference
}

func newNames(v *view) *names {
	n := &names{}
	if v.program.root != nil {
		report := &source.Report{File: v.program.file}
		for _, section := range sections {
			value := fieldAt(v.program.root, section)
			if value == nil {
				continue
			}
			n.declare(v.program, section, value)
			n.use(v.program, report, value)
		}
	}
	for _, section := range configSections {
		if value := fieldAt(v.file.root, section); value != nil {
			n.declare(v.file, configs, value)
		}
	}
	return n
}

func (n *names) declare(t *tree, section string, value *yaml.Node) {
	value = source.Resolve(value)
	if value.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(value.Content); i += 2 {
		n.all = append(n.all, &declaration{section, value.Content[i].Value, t, value.Content[i], value.Content[i+1]})
	}
}

// use notes the references of a section. Text that the checker does not read as an expression has none.
func (n *names) use(t *tree, report *source.Report, section *yaml.Node) {
	bound := map[*yaml.Node]bool{}
	if section = source.Resolve(section); section.Kind == yaml.MappingNode {
		for i := 1; i < len(section.Content); i += 2 {
			if named := fieldAt(section.Content[i], "options", "actions"); named != nil {
				all(named, func(n *yaml.Node) { bound[n] = true })
			}
		}
	}
	expr.Accesses(expr.Parse(report, section), func(a *expr.Access) {
		r := reference{Access: a, action: bound[a.Node()]}
		for i := range len(a.Path) + 1 {
			line, from := t.columnOf(a.Position(t.file, i))
			r.parts = append(r.parts, t.span(line, from, t.part(line, from)))
		}
		n.references = append(n.references, r)
	})
}

// all calls f for a node and all in it.
func all(n *yaml.Node, f func(*yaml.Node)) {
	f(n)
	for _, inner := range n.Content {
		all(inner, f)
	}
}

// part returns the end of a name or an index in an expression.
func (t *tree) part(line, from int) int {
	text := t.line(line)
	if from < len(text) && text[from] == '[' {
		if end := strings.IndexByte(text[from:], ']'); end >= 0 {
			return from + end + 1
		}
	}
	for i, r := range text[from:] {
		if strings.ContainsRune(".[]}\" ", r) {
			return from + i
		}
	}
	return len(text)
}

// declared returns the declaration of a name. Outputs have none.
func (n *names) declared(name string, action bool) *declaration {
	for _, d := range n.all {
		if d.name == name && d.section != outputs && (d.section == actions) == action {
			return d
		}
	}
	return nil
}

// referenceAt returns the reference at a position, and which part of it, or nil.
func (n *names) referenceAt(p position) (*reference, int) {
	for i := range n.references {
		r := &n.references[i]
		for part, s := range r.parts {
			if !p.before(s.Start) && !s.End.before(p) {
				return r, part
			}
		}
	}
	return nil, 0
}

// uses returns the references to a declaration.
func (n *names) uses(d *declaration) []reference {
	var out []reference
	for _, r := range n.references {
		if r.Name == d.name && n.declared(r.Name, r.action) == d {
			out = append(out, r)
		}
	}
	return out
}

// resourceSchema returns the type of a resource: its inputs, and the properties that references to it find. They are nil if they
// are not known.
func (v *view) resourceSchema(ctx context.Context, typ string) (s *schema.Resource, inputs, out *schema.Object) {
	if name, ok := strings.CutPrefix(typ, providerPrefix); ok {
		if p := v.pkg(ctx, name); p != nil {
			return nil, &p.Config, &p.Config
		}
		return nil, nil, nil
	}
	name, _, _ := strings.Cut(typ, ":")
	p := v.pkg(ctx, name)
	if p == nil {
		return nil, nil, nil
	}
	if s = p.ResolveResource(typ); s == nil {
		return nil, nil, nil
	}
	return s, &s.Inputs, &s.Outputs
}

// providerPrefix begins the types of providers.
const providerPrefix = "pulumi:providers:"

// function returns the schema of a function, or nil.
func (v *view) function(ctx context.Context, token string) *schema.Function {
	name, _, _ := strings.Cut(token, ":")
	p := v.pkg(ctx, name)
	if p == nil {
		return nil
	}
	return p.ResolveFunction(token)
}

// typeOf returns the type of the value of a name and a path, nil if it is unknown. seen bounds variables that name each other.
func (v *view) typeOf(ctx context.Context, name string, path property.Path, seen int) *schema.Type {
	d := v.names.declared(name, false)
	if d == nil || seen > maxVariables {
		return nil
	}
	var t *schema.Type
	switch d.section {
	case resources:
		s, _, out := v.resourceSchema(ctx, d.typeToken())
		if out == nil {
			return nil
		}
		t = &schema.Type{Kind: schema.KindObject, Object: withIdentity(out, s == nil || !s.Component)}
	case variables:
		t = v.typeOfExpression(ctx, expr.Parse(&source.Report{File: d.tree.file}, d.value), seen+1)
	}
	for _, segment := range path {
		t, _ = partOf(t, segment)
	}
	return t
}

// maxVariables bounds how many variables stand for each other.
const maxVariables = 50

func (v *view) typeOfExpression(ctx context.Context, x expr.Expr, seen int) *schema.Type {
	switch x := x.(type) {
	case *expr.Access:
		return v.typeOf(ctx, x.Name, x.Path, seen)
	case *expr.Call:
		if x.Function == expr.Secret {
			return v.typeOfExpression(ctx, x.Args[0], seen)
		}
	case *expr.Invoke:
		f := v.function(ctx, x.Token)
		if f == nil {
			return nil
		}
		t := f.Returns
		if t == nil {
			t = &schema.Type{Kind: schema.KindObject, Object: &f.Result}
		}
		if x.Return != "" {
			t, _ = partOf(t, property.Key(x.Return))
		}
		return t
	}
	return nil
}

// withIdentity adds to outputs what every resource has.
func withIdentity(o *schema.Object, custom bool) *schema.Object {
	out := *o
	out.Properties = append([]schema.Property{}, o.Properties...)
	add := func(name, description string) {
		if o.Property(name) == nil {
			out.Properties = append(out.Properties, schema.Property{Name: name, Description: description, Type: &schema.Type{Kind: schema.KindString}, Required: true})
		}
	}
	add("urn", "The URN of the resource.")
	if custom {
		add("id", "The ID that the provider gave the resource.")
	}
	return &out
}

// partOf returns the type of a part of a value, and the property that it is, nil if they are not known.
func partOf(t *schema.Type, segment property.Segment) (*schema.Type, *schema.Property) {
	if t == nil {
		return nil, nil
	}
	key, isKey := segment.Key()
	switch t.Kind {
	case schema.KindObject:
		if t.Object == nil || !isKey {
			return nil, nil
		}
		for i := range t.Object.Properties {
			if p := &t.Object.Properties[i]; p.Name == key {
				return p.Type, p
			}
		}
	case schema.KindArray, schema.KindMap:
		return t.Element, nil
	case schema.KindUnion:
		for _, alternative := range t.OneOf {
			if part, p := partOf(alternative, segment); part != nil {
				return part, p
			}
		}
	}
	return nil, nil
}

// config returns the declaration of a configuration key, or nil.
func (v *view) config(name string) *program.ConfigDeclaration {
	if v.project == nil {
		return nil
	}
	for i := range v.project.Config {
		if v.project.Config[i].Name == name {
			return &v.project.Config[i]
		}
	}
	return nil
}

// isSimple reports whether expressions can name something without quotes, and YAML can have it as a key.
func isSimple(name string) bool {
	if name == "" || utf8.RuneCountInString(name) > 100 || name[0] == '-' {
		return false
	}
	for _, r := range name {
		if !(r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r >= utf8.RuneSelf) {
			return false
		}
	}
	return true
}
