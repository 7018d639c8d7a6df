package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/internal/workspace/projectschema"
)

// hover explains the text at a position.
func (s *server) hover(ctx context.Context, p positionParams) (*hoverResult, error) {
	v, t := s.treeOf(ctx, p.TextDocument.URI)
	if t == nil {
		return nil, nil
	}
	var result hoverResult
	if r, part := v.names.referenceAt(p.Position); r != nil && t == v.program {
		result = hoverResult{markdown(v.aboutReference(ctx, r, part)), r.parts[part]}
	} else if at := t.placeAt(p.Position); at != nil {
		about := v.about
		if v.tree(t.path) == nil {
			about = v.aboutSetting
		}
		result = hoverResult{markdown(about(ctx, at)), t.nodeSpan(at.node)}
	}
	if result.Contents == nil {
		return nil, ctx.Err()
	}
	result.Contents.Value = s.options.Secrets.In(result.Contents.Value)
	return &result, nil
}

// aboutReference describes a part of a reference: what the name stands for, or a property of it.
func (v *view) aboutReference(ctx context.Context, r *reference, part int) string {
	if part == 0 {
		if d := v.names.declared(r.Name, r.action); d != nil {
			return v.aboutDeclaration(ctx, d)
		}
		if r.Name == pulumiName {
			return heading("pulumi", "the deployment")
		}
		return ""
	}
	of := v.typeOf(ctx, r.Name, r.Path[:part-1], 0)
	t, p := partOf(of, r.Path[part-1])
	switch {
	case p != nil:
		return aboutProperty(p, false)
	case t != nil:
		return heading(property.Path{r.Path[part-1]}.String(), t.String())
	}
	return ""
}

func (v *view) aboutDeclaration(ctx context.Context, d *declaration) string {
	switch d.section {
	case resources:
		return v.aboutType(ctx, d.typeToken(), d.name)
	case actions:
		return v.aboutFunction(ctx, text(fieldAt(d.value, "function")), d.name)
	case configs:
		c := v.config(d.name)
		if c == nil {
			return heading(d.name, "configuration")
		}
		lines := []string{heading(d.name, "configuration: "+c.Type.String()), escape(c.Description)}
		switch {
		case c.Secret:
			lines = append(lines, "The value is a secret.")
		case !c.Default.IsNull():
			lines = append(lines, "Default: "+code(c.Default.String()))
		}
		return paragraphs(lines...)
	case variables:
		what := "variable"
		if t := v.typeOf(ctx, d.name, nil, 0); t != nil {
			what += ": " + t.String()
		}
		return heading(d.name, what)
	}
	return ""
}

// aboutType describes a type of resource, with the name of a resource of it if that is not empty.
func (v *view) aboutType(ctx context.Context, typ, name string) string {
	s, inputs, _ := v.resourceSchema(ctx, typ)
	title := typ
	if name != "" {
		title = name + ": " + typ
	}
	switch {
	case s != nil:
		kind := "resource"
		if s.Component {
			kind = "component"
		}
		return paragraphs(heading(title, kind), deprecation(s.Deprecation), escape(s.Description), list("Inputs", inputs, false), list("Outputs", &s.Outputs, true))
	case inputs != nil:
		return paragraphs(heading(title, "provider"), list("Configuration", inputs, false))
	case typ == "":
		return ""
	}
	return heading(title, "resource")
}

func (v *view) aboutFunction(ctx context.Context, token, name string) string {
	f := v.function(ctx, token)
	if f == nil {
		return ""
	}
	kind := "function"
	switch {
	case f.Action:
		kind = "action"
	case f.Ephemeral:
		kind = "function, with an ephemeral result"
	}
	title := schema.ShortToken(f.Token)
	if name != "" {
		title = name + ": " + title
	}
	return paragraphs(heading(title, kind), deprecation(f.Deprecation), escape(f.Description), list("Arguments", &f.Args, false), list("Result", &f.Result, true))
}

// about describes a key or a value of a project or program.
func (v *view) about(ctx context.Context, at *place) string {
	path := at.path
	if len(path) == 0 {
		return ""
	}
	switch section := path[0]; {
	case len(path) == 2 && at.isKey && section != outputs && declaresNames(section):
		for _, d := range v.names.all {
			if d.key == at.node {
				return v.aboutDeclaration(ctx, d)
			}
		}
	case section == resources && len(path) == 3 && path[2] == "type" && !at.isKey:
		return v.aboutType(ctx, at.node.Value, "")
	case section == resources && len(path) > 3 && path[2] == "properties":
		_, inputs, _ := v.resourceSchema(ctx, resourceType(at))
		return v.aboutInput(ctx, at, 3, inputs)
	case section == resources && len(path) > 4 && path[2] == "get" && path[3] == "state":
		_, _, out := v.resourceSchema(ctx, resourceType(at))
		return v.aboutInput(ctx, at, 4, out)
	case section == actions && len(path) == 3 && path[2] == "function" && !at.isKey:
		return v.aboutFunction(ctx, at.node.Value, "")
	case section == actions && len(path) > 3 && path[2] == "arguments":
		if f := v.function(ctx, text(fieldAt(at.around[2], "function"))); f != nil {
			return v.aboutInput(ctx, at, 3, &f.Args)
		}
	case (section == variables || section == outputs) && len(path) > 2:
		return v.aboutInput(ctx, at, 2, nil)
	}
	if !at.isKey {
		return ""
	}
	n := projectschema.Root().At(path...)
	if n == nil || n.Text() == "" {
		return ""
	}
	return paragraphs(heading(path[len(path)-1], ""), escape(n.Text()))
}

// aboutInput describes a key in the properties of something, at a path that enters them behind skip steps.
func (v *view) aboutInput(ctx context.Context, at *place, skip int, o *schema.Object) string {
	var t *schema.Type
	if o != nil {
		t = &schema.Type{Kind: schema.KindObject, Object: o}
	}
	var p *schema.Property
	for i := skip; i < len(at.path); i++ {
		step, last := at.path[i], i == len(at.path)-1
		switch token, isFunction := strings.CutPrefix(step, "fn::"); {
		case step == "fn::invoke" && !last:
			call := fieldAt(at.around[i], step)
			called := text(fieldAt(call, "function"))
			switch inner := at.path[i+1]; {
			case inner == "function" && !at.isKey:
				return v.aboutFunction(ctx, called, "")
			case inner == "arguments" && i+2 < len(at.path):
				if f := v.function(ctx, called); f != nil {
					return v.aboutInput(ctx, at, i+2, &f.Args)
				}
			}
			if n := projectschema.Root().Definitions["invoke"].At(at.path[i+1:]...); n != nil && at.isKey {
				return paragraphs(heading(at.path[len(at.path)-1], ""), escape(n.Text()))
			}
			return ""
		case isFunction && strings.Contains(token, ":"):
			if last {
				return v.aboutFunction(ctx, token, "")
			}
			t = nil
			if f := v.function(ctx, token); f != nil {
				t = &schema.Type{Kind: schema.KindObject, Object: &f.Args}
			}
			p = nil
		case isFunction && last:
			if n := projectschema.Root().Definitions["functions"].Properties[step]; n != nil {
				return paragraphs(heading(step, ""), escape(n.Text()))
			}
			return ""
		case step == "fn::secret":
		case isFunction:
			t, p = nil, nil
		default:
			segment := property.Key(step)
			if step == projectschema.Element {
				segment = property.Index(0)
			}
			t, p = partOf(t, segment)
		}
	}
	if p == nil || !at.isKey {
		return ""
	}
	return aboutProperty(p, true)
}

// aboutProperty describes a property, as an input or an output.
func aboutProperty(p *schema.Property, isInput bool) string {
	what := typeText(p.Type)
	if isInput {
		what = detail(p)
	}
	return paragraphs(heading(p.Name, what), propertyText(p))
}

// propertyText describes a property without its name and type.
func propertyText(p *schema.Property) string {
	var marks []string
	for _, mark := range []struct {
		is   bool
		text string
	}{
		{p.Secret, "The value is a secret."},
		{p.WriteOnly, "The value is not recorded."},
		{p.Replace, "A change replaces the resource."},
		{p.Computed, "The provider chooses a missing value."},
	} {
		if mark.is {
			marks = append(marks, mark.text)
		}
	}
	if p.HasDefault() && !p.Secret {
		marks = append(marks, "Default: "+code(p.Default.String())+".")
	}
	if len(p.OneOf) > 0 {
		var texts []string
		for _, v := range p.OneOf {
			texts = append(texts, code(v.String()))
		}
		marks = append(marks, "One of "+strings.Join(texts, ", ")+".")
	}
	switch {
	case p.Minimum != nil && p.Maximum != nil:
		marks = append(marks, fmt.Sprintf("From %v to %v.", *p.Minimum, *p.Maximum))
	case p.Minimum != nil:
		marks = append(marks, fmt.Sprintf("At least %v.", *p.Minimum))
	case p.Maximum != nil:
		marks = append(marks, fmt.Sprintf("At most %v.", *p.Maximum))
	}
	return paragraphs(deprecation(p.Deprecation), escape(p.Description), strings.Join(marks, " "))
}

func deprecation(text string) string {
	if text == "" {
		return ""
	}
	return "**Deprecated:** " + escape(text)
}

// maxListed bounds the properties that a hover lists.
const maxListed = 40

// list lists inputs, the required ones first, or outputs, those first that are always there.
func list(title string, o *schema.Object, isOutput bool) string {
	if o == nil || len(o.Properties) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("**" + title + "**\n")
	shown := 0
	for _, required := range []bool{true, false} {
		for i := range o.Properties {
			p := &o.Properties[i]
			if (p.Required && !p.HasDefault()) != required {
				continue
			}
			if shown++; shown > maxListed {
				continue
			}
			first, _, _ := strings.Cut(p.Description, "\n")
			what := detail(p)
			if isOutput {
				what = typeText(p.Type)
			} else {
				what += atRest(p)
			}
			fmt.Fprintf(&b, "\n- %s (%s) %s", code(p.Name), escape(what), escape(first))
		}
	}
	if shown > maxListed {
		fmt.Fprintf(&b, "\n- and %d others", shown-maxListed)
	}
	return b.String()
}

// atRest returns the default of an input, and whether a change replaces the resource, in a few words.
func atRest(p *schema.Property) (text string) {
	if p.HasDefault() && !p.Secret {
		text = ", default " + p.Default.String()
	}
	if p.Replace {
		text += ", replaces"
	}
	return text
}

func heading(title, what string) string {
	if what != "" {
		what = " — " + escape(what)
	}
	return code(title) + what
}

// code returns a text as code. A backtick would end it.
func code(text string) string { return "`" + strings.ReplaceAll(text, "`", "'") + "`" }

// escape returns text of a provider as Markdown that can hold neither HTML nor images nor links that run something.
func escape(text string) string {
	return strings.NewReplacer("<", "&lt;", "![", `!\[`, "](command:", `]\(command:`).Replace(text)
}

func paragraphs(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "\n\n")
}
