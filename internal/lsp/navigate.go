package lsp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/engine/program/source"
)

// definition returns where the name at a position is declared.
func (s *server) definition(ctx context.Context, p positionParams) ([]location, error) {
	v, d, _ := s.named(ctx, p)
	if d != nil {
		return []location{d.location()}, nil
	}
	if v == nil {
		return []location{}, nil
	}
	return v.providerOf(p)
}

// providerOf returns where the provider of a type or a function at a position is listed.
func (v *view) providerOf(p positionParams) ([]location, error) {
	out := []location{}
	t := v.tree(uriToPath(p.TextDocument.URI))
	if t != v.program || t == nil || v.project == nil {
		return out, nil
	}
	at := t.placeAt(p.Position)
	if at == nil || len(at.path) < 3 {
		return out, nil
	}
	last := at.path[len(at.path)-1]
	token := at.node.Value
	switch {
	case at.isKey && strings.HasPrefix(last, "fn::") && strings.Contains(last[len("fn::"):], ":"):
		token = last[len("fn::"):]
	case at.isKey || last != "type" && last != "function":
		return out, nil
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(token, providerPrefix), ":")
	pkg := v.project.Package(name)
	position := pkg.Position
	if declared := v.project.Provider(pkg.Source); position == (source.Position{}) && declared != nil {
		position = declared.Position
	}
	if position == (source.Position{}) {
		return out, nil
	}
	line, from := v.file.columnOf(position)
	return append(out, location{v.file.uri(), v.file.span(line, from, v.file.token(line, from))}), nil
}

// references returns where the name at a position is used.
func (s *server) references(ctx context.Context, p positionParams) ([]location, error) {
	v, d, _ := s.named(ctx, p)
	out := []location{}
	if d == nil {
		return out, nil
	}
	if p.Context.IncludeDeclaration {
		out = append(out, d.location())
	}
	for _, r := range v.names.uses(d) {
		out = append(out, location{v.program.uri(), r.parts[0]})
	}
	return out, nil
}

func (d *declaration) location() location { return location{d.tree.uri(), d.tree.nodeSpan(d.key)} }

// named returns the declaration of the name at a position, and the range of the name there. d is nil if there is none.
func (s *server) named(ctx context.Context, p positionParams) (v *view, d *declaration, at span) {
	v, t := s.treeOf(ctx, p.TextDocument.URI)
	if t == nil {
		return v, nil, at
	}
	if r, part := v.names.referenceAt(p.Position); r != nil && part == 0 && t == v.program {
		return v, v.names.declared(r.Name, r.action), r.parts[0]
	}
	found := t.placeAt(p.Position)
	if found == nil || !found.isKey {
		return v, nil, at
	}
	if v.tree(t.path) == nil {
		return v, v.names.declared(v.declaredName(found.path), false), t.nodeSpan(found.node)
	}
	for _, d := range v.names.all {
		if d.key == found.node && d.section != outputs {
			return v, d, t.nodeSpan(d.key)
		}
	}
	return v, nil, at
}

// prepareRename returns the range of the name at a position, and refuses what cannot be renamed.
func (s *server) prepareRename(ctx context.Context, p positionParams) (span, error) {
	_, d, at := s.named(ctx, p)
	return at, renamable(d)
}

func renamable(d *declaration) error {
	switch {
	case d == nil:
		return errors.New("there is no name of a resource, variable, or action here")
	case d.section == configs:
		return fmt.Errorf("%q is a configuration key: its values are in the configuration of each stack, so rename it with husk config set and rm", d.name)
	}
	return nil
}

// rename renames a resource, a variable, or an action, and all references to it. A resource gets an alias, so that the next
// update does not replace it.
func (s *server) rename(ctx context.Context, p positionParams) (*workspaceEdit, error) {
	v, d, _ := s.named(ctx, p)
	if err := renamable(d); err != nil {
		return nil, err
	}
	if p.NewName == d.name {
		return nil, nil
	}
	if !isSimple(p.NewName) {
		return nil, fmt.Errorf("%q cannot be the name: use letters, digits, - and _ only", p.NewName)
	}
	if p.NewName == pulumiName {
		return nil, fmt.Errorf("the name %q stands for the deployment itself", p.NewName)
	}
	for _, other := range v.names.all {
		if other.name == p.NewName && other.section != outputs {
			return nil, fmt.Errorf("the name %q is taken, on line %d of %s", p.NewName, other.key.Line, other.tree.file.Name)
		}
	}
	t := d.tree
	edits := []textEdit{{t.nodeSpan(d.key), p.NewName}}
	for _, r := range v.names.uses(d) {
		written := v.program.written(r.parts[0])
		if strings.HasPrefix(written, "[") {
			written = strings.Trim(written, `[]"`)
		}
		if written != d.name {
			return nil, fmt.Errorf("the reference on line %d spells %q in another way: rename it by hand", r.parts[0].Start.Line+1, d.name)
		}
		edits = append(edits, textEdit{r.parts[0], p.NewName})
	}
	if edit, ok := d.alias(p.NewName); ok {
		edits = append(edits, edit)
	}
	return &workspaceEdit{Changes: map[string][]textEdit{t.uri(): edits}}, nil
}

// written returns the text of a range of one line.
func (d *document) written(s span) string {
	return d.line(s.Start.Line)[d.column(s.Start):d.column(s.End)]
}

// alias returns the edit that adds the name of a resource to its aliases, unless its URN does not change with it.
func (d *declaration) alias(renamed string) (textEdit, bool) {
	if d.section != resources {
		return textEdit{}, false
	}
	value := source.Resolve(d.value)
	if value.Kind != yaml.MappingNode || len(value.Content) == 0 || fieldAt(value, "name") != nil || fieldAt(value, "get") != nil {
		return textEdit{}, false
	}
	entry := "{name: " + d.name + "}"
	optionsKey, options := field(value, "options")
	if options == nil {
		return d.tree.insert(value, nil, "options: {aliases: ["+entry+"]}")
	}
	aliasesKey, aliases := field(options, "aliases")
	if aliases == nil {
		return d.tree.insert(options, optionsKey, "aliases: ["+entry+"]")
	}
	if aliases = source.Resolve(aliases); aliases.Kind == yaml.SequenceNode {
		for _, a := range aliases.Content {
			if text(fieldAt(a, "name")) == renamed {
				return textEdit{}, false // it gets back the name that it had
			}
		}
	}
	return d.tree.insert(aliases, aliasesKey, entry)
}

// insert returns the edit that puts an element or a field first in a list or a mapping, the value of a key.
func (t *tree) insert(n, key *yaml.Node, added string) (textEdit, bool) {
	n = source.Resolve(n)
	at := func(line, column int, text string) (textEdit, bool) {
		return textEdit{t.span(line, column, column), text}, true
	}
	line, column := t.columnOf(source.Of(n))
	switch {
	case n.Kind == yaml.ScalarNode && source.IsNull(n) && key != nil:
		line, column = t.columnOf(source.Of(key))
		column = t.token(line, column) + len(":")
		if strings.Contains(added, ": ") && added[0] != '{' {
			added = "{" + added + "}"
		} else {
			added = "[" + added + "]"
		}
		return at(line, min(column, len(t.line(line))), " "+added)
	case n.Style&yaml.FlowStyle != 0:
		if len(n.Content) > 0 {
			added += ", "
		}
		return at(line, column+1, added)
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0:
		return at(line, column, "- "+added+"\n"+strings.Repeat(" ", column))
	case n.Kind == yaml.MappingNode && len(n.Content) > 0:
		return at(line, column, added+"\n"+strings.Repeat(" ", column))
	}
	return textEdit{}, false
}
