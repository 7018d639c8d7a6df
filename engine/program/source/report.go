package source

import (
	"fmt"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Report collects the problems of a file. It is safe for concurrent use.
type Report struct {
	File *File

	mu          sync.Mutex
	diagnostics Diagnostics
}

// Add adds diagnostics.
func (r *Report) Add(ds ...Diagnostic) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.diagnostics = append(r.diagnostics, ds...)
}

// Errorf adds an error at a node.
func (r *Report) Errorf(n *yaml.Node, format string, args ...any) {
	r.Add(r.File.Errorf(Of(n), format, args...))
}

// Warnf adds a warning at a node.
func (r *Report) Warnf(n *yaml.Node, format string, args ...any) {
	d := r.File.Errorf(Of(n), format, args...)
	d.Severity = Warning
	r.Add(d)
}

// Diagnostics returns what was added, in the order of the file.
func (r *Report) Diagnostics() Diagnostics {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.diagnostics.Sorted()
}

// Text returns the text of a scalar, and reports anything else. what is the scalar: "a name".
func (r *Report) Text(n *yaml.Node, what string) (string, bool) {
	n = Resolve(n)
	if n.Kind != yaml.ScalarNode || IsNull(n) {
		r.Errorf(n, "%s must be text, not %s", what, Describe(n))
		return "", false
	}
	return n.Value, true
}

// Bool returns the truth value of a scalar. Anything else is reported.
func (r *Report) Bool(n *yaml.Node, what string) (value, ok bool) {
	n = Resolve(n)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(&value) != nil {
		r.Errorf(n, "%s must be true or false, not %s", what, Describe(n))
		return false, false
	}
	return value, true
}

// Elements returns the elements of a list. Anything else is reported.
func (r *Report) Elements(n *yaml.Node, what string) []*yaml.Node {
	n = Resolve(n)
	if IsNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.Errorf(n, "%s must be a list, not %s", what, Describe(n))
		return nil
	}
	elements := make([]*yaml.Node, len(n.Content))
	for i, e := range n.Content {
		elements[i] = Resolve(e)
	}
	return elements
}

// IsEmpty reports whether a node is null, or a list or mapping without elements.
func IsEmpty(n *yaml.Node) bool {
	n = Resolve(n)
	return IsNull(n) || n.Kind != yaml.ScalarNode && len(n.Content) == 0
}

// IsNull reports whether a node is null or has no value.
func IsNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// Describe says what a node is, for messages, but not its value.
func Describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		switch n.ShortTag() {
		case "!!null":
			return "nothing"
		case "!!bool":
			return "a truth value"
		case "!!int", "!!float":
			return "a number"
		}
		return "text"
	default:
		return fmt.Sprintf("a YAML node of kind %d", n.Kind)
	}
}
