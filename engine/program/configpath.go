package program

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/program/source"
)

// ConfigPath reads a path such as aws:tags.owner: the key's full name, and what follows it.
func (p *Project) ConfigPath(text string) (key string, rest property.Path, err error) {
	path, err := property.ParsePath(text)
	if err != nil {
		return "", nil, err
	}
	if len(path) == 0 {
		return "", nil, errors.New("the path of a configuration value begins with its key, and this is empty")
	}
	name, ok := path[0].Key()
	if !ok || slices.ContainsFunc(path, func(s property.Segment) bool { return s.IsWildcard() }) {
		return "", nil, fmt.Errorf("the path %s is not that of one configuration value", path)
	}
	key, err = p.ConfigKey(name)
	return key, path[1:], err
}

// SetAt is Set for a part of a key's value. It makes missing lists and objects; a list grows by the
// index that is its length. As in Pulumi, text may be a whole number, true, or false.
func (c *StackConfig) SetAt(key string, path property.Path, text string, encrypted bool) error {
	if len(path) == 0 {
		c.Set(key, text, encrypted)
		return nil
	}
	value := &yaml.Node{}
	switch number, err := strconv.ParseInt(text, 10, 64); {
	case encrypted:
		value = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{scalar("secure"), scalar(text)}}
	case err == nil && text == strconv.FormatInt(number, 10), text == "true", text == "false":
		value = &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	default:
		value = scalar(text)
	}
	config := c.config()
	var at *yaml.Node
	if i := c.find(config, key); i >= 0 {
		at = source.Resolve(config.Content[i+1])
	}
	made, err := withPart(at, path, value)
	if err != nil {
		return fmt.Errorf("%s%s cannot be set: %w", key, suffix(path), err)
	}
	if at == nil {
		c.Set(key, "", false)
		config = c.config()
	}
	config.Content[c.find(config, key)+1] = made
	c.changed = true
	return nil
}

// suffix is a path as it follows a key.
func suffix(path property.Path) string {
	text := path.String()
	if _, ok := path[0].Key(); ok && text[0] != '[' {
		return "." + text
	}
	return text
}

// withPart returns a node, nil if there is none yet, in which the part at the path is the value.
func withPart(n *yaml.Node, path property.Path, value *yaml.Node) (*yaml.Node, error) {
	if len(path) == 0 {
		return value, nil
	}
	if n != nil && source.IsNull(n) {
		n = nil
	}
	var old *yaml.Node
	var put func(part *yaml.Node)
	if name, ok := path[0].Key(); ok {
		if n == nil {
			n = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		}
		if n.Kind != yaml.MappingNode || isSealed(n) {
			return nil, fmt.Errorf("%q is of %s, which has no such part; remove that first", name, source.Describe(n))
		}
		put = func(part *yaml.Node) { n.Style, n.Content = 0, append(n.Content, scalar(name), part) }
		if i := field(n, func(key string) bool { return key == name }); i >= 0 {
			old = source.Resolve(n.Content[i+1])
			put = func(part *yaml.Node) { n.Content[i+1] = part }
		}
	} else {
		index, _ := path[0].Index()
		if n == nil {
			n = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		}
		switch {
		case n.Kind != yaml.SequenceNode:
			return nil, fmt.Errorf("element %d is of %s, which has no such part; remove that first", index, source.Describe(n))
		case index > len(n.Content):
			return nil, fmt.Errorf("the list has %d elements, so that the next is [%[1]d]", len(n.Content))
		case index == len(n.Content):
			put = func(part *yaml.Node) { n.Style, n.Content = 0, append(n.Content, part) }
		default:
			old = source.Resolve(n.Content[index])
			put = func(part *yaml.Node) { n.Content[index] = part }
		}
	}
	part, err := withPart(old, path[1:], value)
	if err != nil {
		return nil, err
	}
	put(part)
	return n, nil
}

// isSealed reports whether a node is {secure: ciphertext}.
func isSealed(n *yaml.Node) bool {
	return len(n.Content) == 2 && n.Content[0].Value == "secure"
}

// TextAt is Text for a part of a key's value.
func (c *StackConfig) TextAt(key string, path property.Path, decrypt func(ciphertext string) (string, error)) (text string, found bool, err error) {
	v, ok := c.Get(key)
	if !ok {
		return "", false, nil
	}
	part, ok := path.Get(v)
	if !ok {
		return "", false, nil
	}
	if part, _, err = opened(part, decrypt); err != nil {
		return "", true, fmt.Errorf("cannot decrypt the configuration key %q: %w", key, err)
	}
	text, err = ConfigText(part)
	return text, true, err
}
