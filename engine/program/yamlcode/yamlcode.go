// Package yamlcode writes resources as a program in YAML would declare them, for
// husk import. Secrets are not written: the program takes them from the configuration.
package yamlcode

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
)

// Resource is one to write.
type Resource struct {
	// Name is its name in the program. An alias leads to the resource's own name.
	Name string
	// Group names a group of resources, and is empty for a resource without one. If another resource needs some of a group, and no
	// record says which, a reference to one of them is enough.
	Group string
	*state.Resource
}

// Secret is a configuration key that the program takes a secret from.
type Secret struct {
	Key string
	// JSON says that the value is set as JSON, because it is not a text.
	JSON bool
}

// Code is the text of a program.
type Code struct {
	Text []byte
	// Secrets are the configuration keys that have to be set before the program runs.
	Secrets []Secret
	// Omitted are the inputs that cannot be written in YAML.
	Omitted []string
}

// Write writes resources in their order. names are the program's names of other resources, by default their own. An input that is
// equal to a property of a resource that the state has as a dependency becomes a reference to it; dependencies without one become
// options.
func Write(resources []Resource, names map[urn.URN]string) (*Code, error) {
	w := writer{code: &Code{}, names: make(map[urn.URN]string), used: make(map[string]bool), written: make(map[urn.URN]Resource), texts: make(map[urn.URN]map[string][]source)}
	for u, name := range names {
		w.names[u] = name
	}
	for _, r := range resources {
		w.names[r.URN] = r.Name
		w.used[r.Name] = true
		w.written[r.URN] = r
	}
	declared := mapping()
	for _, r := range resources {
		w.left = nil
		written, key := w.resource(r), text(r.Name)
		key.HeadComment = strings.Join(w.left, "\n")
		declared.Content = append(declared.Content, key, written)
	}
	document := mapping()
	if len(w.config.Content) > 0 {
		document.Content = append(document.Content, text("config"), &w.config)
	}
	document.Content = append(document.Content, text("resources"), declared)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(document), encoder.Close()); err != nil {
		return nil, fmt.Errorf("writing the program: %w", err)
	}
	w.code.Text = out.Bytes()
	return w.code, nil
}

type writer struct {
	code  *Code
	names map[urn.URN]string
	used  map[string]bool
	// written are the resources of the program.
	written map[urn.URN]Resource
	// texts are the properties that were looked up, by resources and texts.
	texts  map[urn.URN]map[string][]source
	config yaml.Node
	// left are the parts that are left out of the current resource.
	left []string
}

func (w *writer) resource(r Resource) *yaml.Node {
	out := mapping("type", text(r.Type))
	properties, options := mapping(), mapping()
	from := w.referable(r)
	for _, key := range r.Inputs.Keys() {
		if strings.HasPrefix(key, "__") {
			continue // a note of the provider to itself
		}
		value, err := w.input(r, key, from)
		if err != nil {
			w.code.Omitted = append(w.code.Omitted, fmt.Sprintf("%s of %s: %v", key, r.Name, err))
			w.left = append(w.left, comment(fmt.Sprintf("%s: %v", key, err)))
			continue
		}
		properties.Content = append(properties.Content, text(key), value)
	}
	if len(properties.Content) > 0 {
		out.Content = append(out.Content, text("properties"), properties)
	}
	add := func(option string, value *yaml.Node) { options.Content = append(options.Content, text(option), value) }
	if r.Name != r.URN.Name() {
		add("aliases", &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{text(string(r.URN))}})
	}
	if r.Parent != "" && r.Parent.Type() != urn.RootType {
		add("parent", w.reference(r.Parent))
	}
	if unused := from.unused(); len(unused) > 0 {
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, on := range unused {
			list.Content = append(list.Content, w.reference(on))
		}
		add("dependsOn", list)
	}
	if provider, _, ok := state.CutReference(r.Provider); ok && !providers.IsDefault(provider) {
		add("provider", w.reference(provider))
	}
	if r.Protect {
		add("protect", &yaml.Node{Kind: yaml.ScalarNode, Value: "true"})
	}
	if len(options.Content) > 0 {
		out.Content = append(out.Content, text("options"), options)
	}
	return out
}

func comment(s string) string { return strings.Join(strings.Fields(s), " ") }

func (w *writer) reference(u urn.URN) *yaml.Node {
	name := w.names[u]
	if name == "" {
		name = u.Name()
	}
	return access(name)
}

func access(name string) *yaml.Node {
	return text("${" + property.Path{property.Key(name)}.String() + "}")
}

// input writes one input. One that holds a secret is taken from the configuration as a whole, unless it is a
// reference.
func (w *writer) input(r Resource, key string, from *referable) (*yaml.Node, error) {
	v := r.Inputs.Get(key)
	used := maps.Clone(from.used)
	if out, err := (&literals{from: from}).value(key, v); err == nil || !v.ContainsSecrets() {
		return out, err
	}
	from.used = used
	name := w.free(r.Name, key)
	typ, isText := configType(v.Unwrap())
	w.used[name] = true
	w.code.Secrets = append(w.code.Secrets, Secret{Key: name, JSON: !isText})
	w.config.Kind = yaml.MappingNode
	w.config.Content = append(w.config.Content, text(name),
		mapping("type", text(typ), "secret", &yaml.Node{Kind: yaml.ScalarNode, Value: "true"}))
	return access(name), nil
}

// wordPart matches the words of configuration keys, which no shell has to quote.
var wordPart = lazyregexp.Regexp{Syntax: `[A-Za-z0-9]+`}

// free returns a configuration key that nothing else is named after: pageToken.
func (w *writer) free(resource, input string) string {
	var b strings.Builder
	for i, part := range wordPart.Get().FindAllString(resource+" "+input, -1) {
		if i > 0 {
			part = strings.ToUpper(part[:1]) + part[1:]
		}
		b.WriteString(part)
	}
	base := b.String()
	if base == "" {
		base = "secret"
	}
	name := base
	for n := 2; w.used[name]; n++ {
		name = fmt.Sprintf("%s%d", base, n)
	}
	return name
}

// configType is the type of a configuration key for a value, and whether it is text.
func configType(v property.Value) (typ string, isText bool) {
	switch v.Kind() {
	case property.KindBool:
		return "boolean", true
	case property.KindNumber:
		return "number", true
	case property.KindArray:
		return "array", false
	case property.KindObject:
		return "object", false
	default:
		return "string", true
	}
}
