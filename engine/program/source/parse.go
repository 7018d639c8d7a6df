package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

const (
	// maxNodes bounds a file with its aliases expanded: twenty times the largest programs.
	maxNodes = 2_000_000
	// MaxParts bounds what a file may have of lines, entries, and comments before it is parsed: each takes up to [MemoryOfPart],
	// however short it is. A program of 10,000 resources has 300,000.
	MaxParts = 1_500_000
	// MemoryOfPart and MemoryOfByte bound the memory for each part and each byte of a text, MemoryOfFile for a file besides: see
	// [DecodedSize].
	MemoryOfPart, MemoryOfByte, MemoryOfFile = 320, 32, 256 << 10
	// Aliases make a file at most maxExpansion times as large, and freeExpansion parts are free: programs have parts in
	// common, and a short file that becomes a large one means no good.
	maxExpansion, freeExpansion = 10, 100_000
	// maxDepth bounds the nesting of a file: ten times what people write, and less than property
	// values.
	maxDepth = 100
)

// Parse returns the root of the file's only YAML document. Aliases are left in place (see
// [Resolve]), but bounded. The error is [Diagnostics] or [ErrEmpty].
func Parse(f *File, text []byte) (*yaml.Node, error) {
	document, err := ParseDocument(f, text)
	if err != nil {
		return nil, err
	}
	return document.Content[0], nil
}

// ParseDocument is Parse for the document, which holds the root and comments.
func ParseDocument(f *File, text []byte) (*yaml.Node, error) {
	if d, ok := findBadText(f); ok {
		return nil, Diagnostics{d}
	}
	if Parts(text) > MaxParts {
		return nil, Diagnostics{f.Errorf(Position{}, "the file has more than %d lines, entries, and comments; move generated parts to other files", MaxParts)}
	}
	var document, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, ErrEmpty
	} else if err != nil {
		return nil, Diagnostics{explain(f, err)}
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, Diagnostics{f.Errorf(Of(&second), "a second YAML document begins here; put everything in one")}
	} else if !errors.Is(err, io.EOF) {
		return nil, Diagnostics{explain(f, err)}
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		return nil, ErrEmpty
	}
	b := bounds{expanding: map[*yaml.Node]bool{}, most: min(maxNodes, freeExpansion+maxExpansion*count(root))}
	if at, problem := b.walk(root, 0); problem != "" {
		return nil, Diagnostics{f.Errorf(Of(at), "%s", problem)}
	}
	f.mu.Lock()
	f.root, f.marks = &document, nil
	f.mu.Unlock()
	return &document, nil
}

// DecodedSize returns how much memory the text of a file takes at most when it is parsed, garbage included. Each line has a header, and is
// copied by the parser.
func DecodedSize(text []byte) int64 {
	return MemoryOfFile + int64(min(Parts(text), MaxParts))*MemoryOfPart + int64(len(text))*MemoryOfByte
}

// Parts returns about how many nodes the parser would make of a text. Comments count more, because each is kept several times.
func Parts(text []byte) (n int) {
	const comment = 4
	for i, c := range text {
		switch c {
		case '\n', ',', '[', '{':
			n++
		case '-', ':', '?':
			if i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n' {
				n++
			}
		case '#':
			n += comment
		}
	}
	return n
}

// Resolve returns the node that an alias stands for, and any other node itself.
func Resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// bounds counts nodes as a reader that follows aliases will meet them.
type bounds struct {
	nodes, most int
	expanding   map[*yaml.Node]bool
}

// count counts the nodes of a file as it is written.
func count(n *yaml.Node) int {
	sum := 1
	for _, child := range n.Content {
		sum += count(child)
	}
	return sum
}

func (b *bounds) walk(n *yaml.Node, depth int) (at *yaml.Node, problem string) {
	if b.nodes++; b.nodes > b.most {
		return n, fmt.Sprintf("the file has more than %d parts with its aliases expanded", b.most)
	}
	if depth > maxDepth {
		return n, fmt.Sprintf("the file is nested deeper than %d levels", maxDepth)
	}
	if n.Kind == yaml.AliasNode {
		if b.expanding[n.Alias] {
			return n, fmt.Sprintf("the alias *%s stands for something that contains it", n.Value)
		}
		b.expanding[n.Alias] = true
		defer delete(b.expanding, n.Alias)
		return b.walk(n.Alias, depth+1)
	}
	for _, child := range n.Content {
		if at, problem := b.walk(child, depth+1); problem != "" {
			return at, problem
		}
	}
	return nil, ""
}
