package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/engine/program/source"
)

// quickFix is the kind of actions that mend what a diagnostic says.
const quickFix = "quickfix"

// codeActions returns the fixes for the diagnostics in a range.
func (s *server) codeActions(ctx context.Context, p rangeParams) ([]codeAction, error) {
	out := []codeAction{}
	path := uriToPath(p.TextDocument.URI)
	v := s.view(ctx, path)
	if v == nil {
		return out, nil
	}
	d := s.document(path)
	if d == nil {
		return out, nil
	}
	s.mu.Lock()
	found := slices.Clone(s.found[v.dir][path])
	s.mu.Unlock()
	for _, f := range found {
		if !f.diagnostic.Range.overlaps(p.Range) || f.line >= len(d.lines) {
			continue
		}
		add := func(title string, edits ...textEdit) {
			out = append(out, codeAction{
				Title: title, Kind: quickFix, Diagnostics: []diagnostic{f.diagnostic}, IsPreferred: true,
				Edit: workspaceEdit{Changes: map[string][]textEdit{d.uri(): edits}},
			})
		}
		if edit, ok := d.correction(f); ok {
			add(fmt.Sprintf("Change to %q", edit.NewText), edit)
		}
		if t := v.tree(path); t != nil {
			if edits := t.missingGrants(f); len(edits) > 0 {
				add("Grant what the provider needs", edits...)
			}
		}
	}
	return out, nil
}

// correction returns the edit that replaces a text by the suggestion of a diagnostic.
func (d *document) correction(f published) (textEdit, bool) {
	meant := f.Suggestion()
	if meant == "" {
		return textEdit{}, false
	}
	if f.column > len(d.line(f.line)) {
		return textEdit{}, false // the line has changed since
	}
	from, to := f.column, d.token(f.line, f.column)
	written := d.line(f.line)[from:to]
	if len(written) > 1 && (written[0] == '"' || written[0] == '\'') {
		from, to = from+1, to-1
		written = d.line(f.line)[from:to]
	}
	if rest, ok := strings.CutPrefix(written, "fn::"); ok && !strings.HasPrefix(meant, "fn::") {
		from, written = from+len("fn::"), rest
	}
	// The summary names the faulty text, by itself or as the end of a path.
	if written == "" || !strings.Contains(f.Summary, written+`"`) && !strings.Contains(f.Summary, written+" ") || written == meant {
		return textEdit{}, false
	}
	return textEdit{d.span(f.line, from, to), meant}, true
}

// grantsHint begins the detail of a diagnostic that lists the grants that a provider lacks.
const grantsHint = "to grant it, add to this entry:\n  grants:\n"

// missingGrants returns the edits that grant a provider what a diagnostic says that it needs.
func (t *tree) missingGrants(f published) []textEdit {
	detail, ok := strings.CutPrefix(f.Detail, grantsHint)
	if !ok {
		return nil
	}
	var wanted yaml.Node
	if yaml.Unmarshal([]byte(detail), &wanted) != nil || len(wanted.Content) == 0 {
		return nil
	}
	var entry *yaml.Node
	if list := fieldAt(t.root, "plugins", "providers"); list != nil {
		for _, e := range source.Resolve(list).Content {
			if line, column := t.columnOf(source.Of(e)); line == f.line && column == f.column {
				entry = e
			}
		}
	}
	if entry == nil || source.Resolve(entry).Kind != yaml.MappingNode {
		return nil
	}
	grantsKey, grants := field(entry, "grants")
	missing := source.Resolve(wanted.Content[0])
	var edits []textEdit
	var fields []string
	for i := 0; i+1 < len(missing.Content); i += 2 {
		name, value := missing.Content[i].Value, missing.Content[i+1]
		key, present := field(grants, name)
		switch {
		case present == nil:
			fields = append(fields, name+": "+inline(value))
		case value.Kind != yaml.SequenceNode: // it is there and denied
			edits = append(edits, textEdit{t.nodeSpan(present), value.Value})
		default:
			var elements []string
			for _, e := range value.Content {
				elements = append(elements, inline(e))
			}
			if edit, ok := t.insert(present, key, strings.Join(elements, ", ")); ok && len(elements) == 1 {
				edits = append(edits, edit)
			}
		}
	}
	if len(fields) == 0 {
		return edits
	}
	added, holder, holderKey := strings.Join(fields, ", "), grants, grantsKey
	if grants == nil {
		added, holder, holderKey = "grants: {"+added+"}", entry, nil
		if line, column, ok := t.end(entry); ok { // behind the name and the path, where people look for it
			return append(edits, textEdit{t.span(line, column, column), "\n" + strings.Repeat(" ", t.columnOfKeys(entry)) + added})
		}
	} else if source.Resolve(grants).Style&yaml.FlowStyle == 0 && !source.IsNull(source.Resolve(grants)) {
		_, column := t.columnOf(source.Of(source.Resolve(grants)))
		added = strings.Join(fields, "\n"+strings.Repeat(" ", column))
	}
	if edit, ok := t.insert(holder, holderKey, added); ok {
		edits = append(edits, edit)
	}
	return edits
}

// columnOfKeys returns the column of the keys of a block mapping.
func (t *tree) columnOfKeys(n *yaml.Node) int {
	_, column := t.columnOf(source.Of(source.Resolve(n)))
	return column
}

// end returns the end of the last value of a block mapping, if that is text on its line.
func (t *tree) end(n *yaml.Node) (line, column int, ok bool) {
	n = source.Resolve(n)
	if n.Style&yaml.FlowStyle != 0 || len(n.Content) == 0 {
		return 0, 0, false
	}
	last := n.Content[len(n.Content)-1]
	if last.Kind != yaml.ScalarNode || last.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return 0, 0, false
	}
	line, _ = t.columnOf(source.Of(last))
	return line, len(t.line(line)), true
}

// inline returns a node on one line.
func inline(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		var elements []string
		for _, e := range n.Content {
			elements = append(elements, inline(e))
		}
		return "[" + strings.Join(elements, ", ") + "]"
	case yaml.MappingNode:
		var fields []string
		for i := 0; i+1 < len(n.Content); i += 2 {
			fields = append(fields, n.Content[i].Value+": "+inline(n.Content[i+1]))
		}
		return "{" + strings.Join(fields, ", ") + "}"
	}
	if n.Style&yaml.DoubleQuotedStyle != 0 || strings.ContainsAny(n.Value, ",[]{}:#*&") {
		return fmt.Sprintf("%q", n.Value)
	}
	return n.Value
}
