package source

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Field is one key of a mapping with its value. An alias is resolved.
type Field struct {
	Name       string
	Key, Value *yaml.Node
}

// Fields returns the fields of a mapping in their order, none for null. The fields that << merges follow, in the order of their
// mappings; the mapping's own fields take precedence. It reports anything else, and leaves out keys that are not text or occur
// twice. what names the mapping in errors: "a resource".
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
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := Resolve(n.Content[i])
		if key.Kind != yaml.ScalarNode {
			r.Errorf(key, "a key must be text, not %s", Describe(key))
			continue
		}
		if earlier, ok := first[key.Value]; ok {
			r.Errorf(key, "the key %q is given twice; the first is on line %d", key.Value, earlier.Line)
			continue
		}
		first[key.Value] = key
		if key.Tag == mergeTag {
			merged = r.merged(n.Content[i+1])
			continue
		}
		fields = append(fields, Field{Name: key.Value, Key: key, Value: Resolve(n.Content[i+1])})
	}
	for _, m := range merged {
		for _, f := range r.Fields(m, what) {
			if first[f.Name] == nil {
				first[f.Name] = f.Key
				fields = append(fields, f)
			}
		}
	}
	return fields
}

// KnownFields returns the fields of a mapping whose keys are known. A key in other capitals is taken for the known one, with a
// warning, as Pulumi does.
func (r *Report) KnownFields(n *yaml.Node, what string, known []string) []Field {
	fields := r.Fields(n, what)
	given := make(map[string]bool, len(fields))
	for _, f := range fields {
		given[f.Name] = true
	}
	for i, f := range fields {
		at := slices.IndexFunc(known, func(name string) bool { return strings.EqualFold(name, f.Name) })
		if at < 0 || slices.Contains(known, f.Name) || given[known[at]] {
			continue
		}
		r.Warnf(f.Key, "the key %q is spelled %q", f.Name, known[at])
		fields[i].Name, given[known[at]] = known[at], true
	}
	return fields
}

// mergeTag is the tag of the key <<.
const mergeTag = "!!merge"

// merged returns the mappings that << names: one, or a list of them.
func (r *Report) merged(n *yaml.Node) []*yaml.Node {
	n = Resolve(n)
	all := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		all = r.Elements(n, "<<")
	}
	return slices.DeleteFunc(all, func(m *yaml.Node) bool {
		if m.Kind != yaml.MappingNode {
			r.Errorf(m, "<< merges a mapping, or a list of mappings, not %s", Describe(m))
		}
		return m.Kind != yaml.MappingNode
	})
}

// Key is a key that a mapping may have.
type Key struct {
	name   string
	read   func(Field) bool
	hidden bool
}

// On returns the key of a name. read reports mistakes, and returns whether the field can be used.
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
// the fields that cannot.
func (r *Report) Read(n *yaml.Node, what string, keys ...Key) (ok bool) {
	ok = Resolve(n).Kind == yaml.MappingNode || IsNull(Resolve(n))
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	for _, f := range r.KnownFields(n, what, names) {
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
