package source

import (
	"fmt"
	"slices"
	"strings"
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

// Field is one key of a mapping with its value, which is no alias.
type Field struct {
	Name       string
	Key, Value *yaml.Node
}

// Fields returns the fields of a mapping in their order, none for null. It reports anything else,
// and leaves out keys that are no text or occur twice. what is the mapping: "a resource".
func (r *Report) Fields(n *yaml.Node, what string) []Field {
	n = Resolve(n)
	if IsNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		r.Errorf(n, "%s is a mapping of keys to values, not %s", what, Describe(n))
		return nil
	}
	fields := make([]Field, 0, len(n.Content)/2)
	first := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := Resolve(n.Content[i])
		switch {
		case key.Kind != yaml.ScalarNode:
			r.Errorf(key, "a key must be text, not %s", Describe(key))
			continue
		case key.Tag == "!!merge":
			r.Errorf(key, "merging mappings with << is not supported; write the keys out")
			continue
		}
		if earlier, ok := first[key.Value]; ok {
			r.Errorf(key, "the key %q is given twice; the first is on line %d", key.Value, earlier.Line)
			continue
		}
		first[key.Value] = key
		fields = append(fields, Field{Name: key.Value, Key: key, Value: Resolve(n.Content[i+1])})
	}
	return fields
}

// Key is a key that a mapping may have.
type Key struct {
	name   string
	read   func(Field) bool
	hidden bool
}

// On returns the key of a name. read reports what is wrong, and returns whether the field can be
// used.
func On(name string, read func(Field) (ok bool)) Key { return Key{name: name, read: read} }

// Hidden returns the key as one that messages do not suggest.
func (k Key) Hidden() Key {
	k.hidden = true
	return k
}

// KeyOf returns the key of a value that read returns, if it can be used.
func KeyOf[T any](name string, at *T, read func(*yaml.Node) (T, bool)) Key {
	return On(name, func(f Field) (ok bool) {
		*at, ok = read(f.Value)
		return ok
	})
}

// TextKey returns the key of a text, see [Report.Text].
func (r *Report) TextKey(name string, at *string, what string) Key {
	return KeyOf(name, at, func(n *yaml.Node) (string, bool) { return r.Text(n, what) })
}

// BoolKey returns the key of a truth value, see [Report.Bool].
func (r *Report) BoolKey(name string, at *bool) Key {
	return KeyOf(name, at, func(n *yaml.Node) (bool, bool) { return r.Bool(n, name) })
}

// NodeKey returns the key of a value that is read later.
func NodeKey(name string, at **yaml.Node) Key {
	return KeyOf(name, at, func(n *yaml.Node) (*yaml.Node, bool) { return n, true })
}

// Read reads a mapping by its keys, and returns whether all of its fields can be used. It reports
// others.
func (r *Report) Read(n *yaml.Node, what string, keys ...Key) (ok bool) {
	ok = Resolve(n).Kind == yaml.MappingNode || IsNull(Resolve(n))
	for _, f := range r.Fields(n, what) {
		i := slices.IndexFunc(keys, func(k Key) bool { return k.name == f.Name })
		if i < 0 {
			var known []string
			for _, k := range keys {
				if !k.hidden {
					known = append(known, k.name)
				}
			}
			r.Unknown(f, what, known)
		}
		ok = i >= 0 && keys[i].read(f) && ok
	}
	return ok
}

// Unknown reports a key that what does not have.
func (r *Report) Unknown(f Field, what string, known []string) {
	near := DidYouMean(f.Name, known)
	d := r.File.Errorf(Of(f.Key), "unknown key %q in %s%s", f.Name, what, near)
	if near == "" {
		d.Detail = "known keys: " + strings.Join(known, ", ")
	}
	r.Add(d)
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
