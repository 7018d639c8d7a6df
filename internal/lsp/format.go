package lsp

import (
	"context"
	"fmt"
	"strings"

	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/internal/workspace/yamlformat"
)

// format returns the edit that formats a document of a project as husk fmt does, none if it is formatted already.
func (s *server) format(ctx context.Context, p positionParams) ([]textEdit, error) {
	_, t := s.treeOf(ctx, p.TextDocument.URI)
	if t == nil {
		return []textEdit{}, nil
	}
	if len(t.text) > source.MaxFileSize {
		return nil, fmt.Errorf("%s cannot be formatted: it is too large", t.file.Name)
	}
	formatted, err := yamlformat.Format([]byte(t.text))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be formatted: %w", t.file.Name, err)
	}
	return t.rewrite(strings.Split(string(formatted), "\n")), nil
}

// rewrite returns the edit that replaces the lines of a document which differ from others, none if all are equal.
func (d *document) rewrite(lines []string) []textEdit {
	first, left, right := 0, len(d.lines), len(lines)
	for first < min(left, right) && d.lines[first] == lines[first] {
		first++
	}
	for left > first && right > first && d.lines[left-1] == lines[right-1] {
		left, right = left-1, right-1
	}
	if first == left && first == right {
		return []textEdit{}
	}
	text := strings.Join(lines[first:right], "\n")
	change := span{Start: position{Line: first}, End: position{Line: left}}
	switch {
	case left < len(d.lines): // whole lines
		if right > first {
			text += "\n"
		}
	case first > 0: // up to the end, with the line end before
		change.Start, change.End = d.at(first-1, len(d.line(first-1))), d.at(left-1, len(d.line(left-1)))
		if right > first {
			text = "\n" + text
		}
	default:
		change.End = d.at(left-1, len(d.line(left-1)))
	}
	return []textEdit{{change, text}}
}
