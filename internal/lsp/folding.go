package lsp

import (
	"context"
	"strings"
)

// folding returns the blocks of a document that an editor can hide: by their indentation, which an unfinished line leaves as it
// is, and comments of several lines.
func (s *server) folding(ctx context.Context, p positionParams) ([]foldingRange, error) {
	_, t := s.treeOf(ctx, p.TextDocument.URI)
	if t == nil {
		return []foldingRange{}, nil
	}
	return append(t.blocks(), t.comments()...), nil
}

// blocks returns the lines that are indented below another.
func (d *document) blocks() []foldingRange {
	out := []foldingRange{}
	type opened struct{ line, depth int }
	var open []opened
	last := 0
	end := func(depth int) {
		for len(open) > 0 && open[len(open)-1].depth >= depth {
			if first := open[len(open)-1].line; last > first {
				out = append(out, foldingRange{StartLine: first, EndLine: last})
			}
			open = open[:len(open)-1]
		}
	}
	for i, line := range d.lines {
		text := strings.TrimSpace(line)
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		depth := 2 * indentOf(line)
		if text == "-" || strings.HasPrefix(text, "- ") { // which may be as far left as the key of its list
			depth++
		}
		end(depth)
		open = append(open, opened{i, depth})
		last = i
	}
	end(0)
	return out
}

// comments returns the comments of several lines.
func (d *document) comments() (out []foldingRange) {
	first := -1
	for i := range len(d.lines) + 1 {
		isComment := strings.HasPrefix(strings.TrimSpace(d.line(i)), "#")
		switch {
		case isComment && first < 0:
			first = i
		case !isComment && first >= 0:
			if i-1 > first {
				out = append(out, foldingRange{StartLine: first, EndLine: i - 1, Kind: "comment"})
			}
			first = -1
		}
	}
	return out
}
