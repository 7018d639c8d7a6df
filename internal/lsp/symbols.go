package lsp

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/engine/program/source"
)

// symbols returns the names of a document, by their sections.
func (s *server) symbols(ctx context.Context, p positionParams) ([]documentSymbol, error) {
	out := []documentSymbol{}
	v, t := s.treeOf(ctx, p.TextDocument.URI)
	if t == nil || t.root == nil {
		return out, nil
	}
	root := source.Resolve(t.root)
	for i := 0; root.Kind == yaml.MappingNode && i+1 < len(root.Content); i += 2 {
		section := t.symbol(root.Content[i], symbolNamespace, "")
		if section.Name == "" {
			continue
		}
		for _, d := range v.names.all {
			if d.tree == t && d.section == section.Name {
				section.Children = append(section.Children, t.symbol(d.key, symbolKind(d.section), d.typeToken()))
			}
		}
		if settings := source.Resolve(root.Content[i+1]); v.tree(t.path) == nil && section.Name == configs && settings.Kind == yaml.MappingNode {
			for j := 0; j+1 < len(settings.Content); j += 2 {
				section.Children = append(section.Children, t.symbol(settings.Content[j], symbolVariable, ""))
			}
		}
		out = append(out, section)
	}
	return out, nil
}

func (t *tree) symbol(key *yaml.Node, kind int, detail string) documentSymbol {
	return documentSymbol{Name: key.Value, Detail: detail, Kind: kind, Range: t.block(key), SelectionRange: t.nodeSpan(key)}
}

// workspaceSymbols returns the declarations in the projects of open documents whose names contain the query, in any case.
func (s *server) workspaceSymbols(ctx context.Context, p symbolParams) ([]workspaceSymbol, error) {
	out := []workspaceSymbol{}
	for _, v := range s.openViews(ctx) {
		for _, d := range v.names.all {
			if strings.Contains(strings.ToLower(d.name), strings.ToLower(p.Query)) {
				out = append(out, workspaceSymbol{Name: d.name, Kind: symbolKind(d.section), Location: d.location(), ContainerName: cmp.Or(d.typeToken(), d.section)})
			}
		}
	}
	return out, ctx.Err()
}

// openViews returns the projects of the open documents, in the order of their directories.
func (s *server) openViews(ctx context.Context) (views []*view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dirs := map[string]bool{}
	for path := range s.open {
		dirs[s.projectDir(path)] = true
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if v := s.viewOf(ctx, dir); v != nil {
			views = append(views, v)
		}
	}
	return views
}

// block returns the lines of a key and its value.
func (t *tree) block(key *yaml.Node) span {
	line, from := t.columnOf(source.Of(key))
	end := line
	for i := line + 1; i < len(t.lines); i++ {
		if strings.TrimSpace(t.line(i)) == "" {
			continue
		}
		if indentOf(t.line(i)) <= from && !(indentOf(t.line(i)) == from && strings.HasPrefix(strings.TrimSpace(t.line(i)), "- ")) {
			break
		}
		end = i
	}
	return span{t.at(line, from), t.at(end, len(t.line(end)))}
}

func symbolKind(section string) int {
	switch section {
	case resources:
		return symbolObject
	case actions:
		return symbolFunction
	}
	return symbolVariable
}
