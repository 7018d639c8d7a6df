package lsp

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/internal/workspace/projectschema"
)

// tree is the syntax tree of a document. Blocks that are not valid YAML are left out of it.
type tree struct {
	*document
	// file is the text without the blocks that are left out. Its lines are the document's.
	file *source.File
	kept string
	// root is nil if nothing is left.
	root *yaml.Node
	// mistakes say why blocks are left out.
	mistakes source.Diagnostics
	// left are the lines that are left out, counted from 0.
	left []int
}

// maxMistakes bounds the blocks that are left out of a tree.
const maxMistakes = 20

// newTree parses a document. name is its name in diagnostics.
func newTree(d *document, name string) *tree {
	t := &tree{document: d}
	if len(d.text) > source.MaxFileSize { // as it would be on disk
		t.file = source.NewFile(name, nil)
		t.mistakes = source.Diagnostics{t.file.Errorf(source.Position{}, "the file is larger than %d MiB", source.MaxFileSize>>20)}
		return t
	}
	lines := slices.Clone(d.lines)
	parse := func() (ds source.Diagnostics) {
		t.kept = strings.Join(lines, "\n")
		t.file = source.NewFile(name, []byte(t.kept))
		root, err := source.Parse(t.file, []byte(t.kept))
		t.root = root
		if errors.As(err, &ds) {
			return ds
		}
		return nil
	}
	problems := parse()
	for len(problems) > 0 && len(t.mistakes) < maxMistakes {
		mistake := problems[0]
		mistake.File = name
		t.mistakes = append(t.mistakes, mistake)
		at := mistake.Line - 1
		// The parser may find out later that a line is wrong: the lines beside it are tried as well.
		var best []string
		var bestLeft []int
		var bestProblems source.Diagnostics
		for _, candidate := range []int{at, at - 1, at + 1} {
			if candidate < 0 || candidate >= len(lines) || strings.TrimSpace(lines[candidate]) == "" {
				continue
			}
			before := slices.Clone(lines)
			left := leaveOut(lines, candidate)
			problems = parse()
			if better := len(problems) == 0 || problems[0].Line > mistake.Line; better || best == nil {
				best, bestLeft, bestProblems = slices.Clone(lines), left, problems
				if better {
					break
				}
			}
			copy(lines, before)
		}
		if best == nil {
			break
		}
		copy(lines, best)
		t.left = append(t.left, bestLeft...)
		if problems = bestProblems; len(problems) > 0 && problems[0].Line == mistake.Line && problems[0].Summary == mistake.Summary {
			t.mistakes = t.mistakes[:len(t.mistakes)-1] // it is still the same one
			if len(t.left) > len(lines) {
				break
			}
		}
	}
	parse()
	return t
}

// leaveOut empties a line and the lines of its block, and returns which.
func leaveOut(lines []string, at int) (left []int) {
	indent := indentOf(lines[at])
	for i := at; i < len(lines); i++ {
		if i > at && strings.TrimSpace(lines[i]) != "" && indentOf(lines[i]) <= indent {
			break
		}
		lines[i] = ""
		left = append(left, i)
	}
	return left
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

var lineKey = regexp.MustCompile(`^[\s-]*["']?([\w.:-]+)["']?\s*:(\s|$)`)

// lost returns the keys on lines that are left out.
func (t *tree) lost() map[string]bool {
	names := map[string]bool{}
	for _, n := range t.left {
		if m := lineKey.FindStringSubmatch(t.line(n)); m != nil {
			names[m[1]] = true
		}
	}
	return names
}

// holds reports whether lines are left out of the block that begins on a line, counted from 0.
func (t *tree) holds(line int) bool {
	if len(t.left) == 0 || line < 0 {
		return false
	}
	end, indent := line+1, indentOf(t.line(line))
	for end < len(t.lines) && (strings.TrimSpace(t.line(end)) == "" || indentOf(t.line(end)) > indent) {
		end++
	}
	return slices.ContainsFunc(t.left, func(n int) bool { return line <= n && n < end })
}

// place is a key or a value in a tree.
type place struct {
	node *yaml.Node
	// isKey separates keys from values.
	isKey bool
	// path has the keys to the node, [projectschema.Element] for an element of a list. A key's ends with itself.
	path []string
	// around are the mappings and lists that hold the node, outermost first.
	around []*yaml.Node
}

// find returns the first key or value that matches, or nil.
func (t *tree) find(match func(n *yaml.Node) bool) (found *place) {
	t.walk(func(p *place) (stop bool) {
		if match(p.node) {
			found = p
		}
		return found != nil
	})
	return found
}

// walk visits each key and each value in their order, until a visit stops it.
func (t *tree) walk(visit func(*place) (stop bool)) {
	if t.root != nil {
		walk(t.root, nil, nil, visit)
	}
}

func walk(n *yaml.Node, path []string, around []*yaml.Node, visit func(*place) (stop bool)) (stopped bool) {
	path, around = slices.Clip(path), slices.Clip(around)
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			inner, holders := append(path, key.Value), append(around, n)
			if visit(&place{key, true, inner, holders}) || walk(value, inner, holders, visit) {
				return true
			}
		}
	case yaml.SequenceNode:
		for _, e := range n.Content {
			if walk(e, append(path, projectschema.Element), append(around, n), visit) {
				return true
			}
		}
	case yaml.ScalarNode:
		return visit(&place{node: n, path: path, around: around})
	}
	return false
}

// placeAt returns the key or value at a position, or nil.
func (t *tree) placeAt(p position) *place {
	column := t.column(p)
	return t.find(func(n *yaml.Node) bool {
		line, from := t.columnOf(source.Of(n))
		return n.Kind == yaml.ScalarNode && line == p.Line && from <= column && column <= t.token(line, from)
	})
}

// nodeSpan returns the range of a key or value on its line, without quotes.
func (t *tree) nodeSpan(n *yaml.Node) span {
	line, from := t.columnOf(source.Of(n))
	to := t.token(line, from)
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		from++
		to = max(from, to-1)
	}
	return t.span(line, from, to)
}

// field returns the key and the value of a mapping's key, nil if it has none.
func field(n *yaml.Node, name string) (key, value *yaml.Node) {
	if n == nil {
		return nil, nil
	}
	if n = source.Resolve(n); n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// fieldAt returns the value at a path of keys, or nil.
func fieldAt(n *yaml.Node, path ...string) *yaml.Node {
	for _, name := range path {
		_, n = field(n, name)
	}
	return n
}

// text returns the text of a scalar, empty for anything else.
func text(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	if n = source.Resolve(n); n.Kind != yaml.ScalarNode || source.IsNull(n) {
		return ""
	}
	return n.Value
}
