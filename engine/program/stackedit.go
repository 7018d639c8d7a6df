package program

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/program/source"
)

// ConfigPath reads a path such as aws:tags.owner: the key's full name, and the path behind it.
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
		return "", nil, fmt.Errorf("the path %s does not name one configuration value", path)
	}
	key, err = p.ConfigKey(name)
	return key, path[1:], err
}

// SetAt is Set for a part of a key's value. It makes missing lists and objects; a list grows by the
// index that is its length. As in Pulumi, text may be a whole number, true, or false.
func (c *StackConfig) SetAt(key string, path property.Path, text string, encrypted bool) error {
	encryptedBy := c.key()
	return c.edit(func(c *StackConfig) error {
		if encrypted && c.key() != encryptedBy {
			return c.otherKey()
		}
		return c.putAt(key, path, text, encrypted)
	})
}

// key names what encrypts the secrets of the file.
func (c *StackConfig) key() [3]string {
	return [...]string{c.SecretsProvider(), c.EncryptedKey(), c.EncryptionSalt()}
}

func (c *StackConfig) putAt(key string, path property.Path, text string, encrypted bool) error {
	if len(path) == 0 {
		c.put(key, text, encrypted)
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
	made, err := withPart(at, key, path, 0, value)
	if err != nil {
		return fmt.Errorf("%s%s cannot be set: %w", key, suffix(path), err)
	}
	if at == nil {
		c.put(key, "", false)
		config = c.config()
	}
	config.Content[c.find(config, key)+1] = made
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

// withPart returns a node, nil if there is none yet, in which the part at the path is the value. The node is that many
// segments of the path below the value of the key.
func withPart(n *yaml.Node, key string, path property.Path, depth int, value *yaml.Node) (*yaml.Node, error) {
	if depth == len(path) {
		return value, nil
	}
	if n != nil && source.IsNull(n) {
		n = nil
	}
	var old *yaml.Node
	var put func(part *yaml.Node)
	if name, ok := path[depth].Key(); ok {
		if n == nil {
			n = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		}
		if n.Kind != yaml.MappingNode || isSealed(n) {
			return nil, lacksPart(n, key, path, depth)
		}
		put = func(part *yaml.Node) { n.Style, n.Content = 0, append(n.Content, scalar(name), part) }
		if i := field(n, func(key string) bool { return key == name }); i >= 0 {
			old = source.Resolve(n.Content[i+1])
			put = func(part *yaml.Node) { n.Content[i+1] = part }
		}
	} else {
		index, _ := path[depth].Index()
		if n == nil {
			n = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		}
		switch {
		case n.Kind != yaml.SequenceNode:
			return nil, lacksPart(n, key, path, depth)
		case index > len(n.Content):
			return nil, fmt.Errorf("the list has %d elements, so that the next is [%[1]d]", len(n.Content))
		case index == len(n.Content):
			put = func(part *yaml.Node) { n.Style, n.Content = 0, append(n.Content, part) }
		default:
			old = source.Resolve(n.Content[index])
			put = func(part *yaml.Node) { n.Content[index] = part }
		}
	}
	part, err := withPart(old, key, path, depth+1, value)
	if err != nil {
		return nil, err
	}
	put(part)
	return n, nil
}

// lacksPart is the error for a node that cannot have the part that a path asks for: its place, its kind, and what to do.
func lacksPart(n *yaml.Node, key string, path property.Path, depth int) error {
	at, what := key, source.Describe(n)
	if depth > 0 {
		at += suffix(path[:depth])
	}
	part := "element"
	if _, ok := path[depth].Key(); ok {
		part = "key"
	}
	advice := fmt.Sprintf("remove it first, with husk config rm %s", key)
	switch text := strings.TrimSpace(n.Value); {
	case isSealed(n):
		what = "encrypted as a whole"
	case n.Kind == yaml.ScalarNode && (strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{")):
		what = "JSON in a text"
		advice = fmt.Sprintf("set all of it, with husk config set %s JSON, or %s, and set part by part", key, advice)
	}
	return fmt.Errorf("%s is %s, which has no %s %s: %s", at, what, part, path[depth:depth+1], advice)
}

// isSealed reports whether a node is {secure: ciphertext}.
func isSealed(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[0].Value == "secure"
}

// RemoveAt is Remove for a part of a key's value.
func (c *StackConfig) RemoveAt(key string, path property.Path) bool {
	if !c.removeAt(key, path) {
		return false
	}
	c.edits = append(c.edits, func(c *StackConfig) error {
		c.removeAt(key, path)
		return nil
	})
	return true
}

func (c *StackConfig) removeAt(key string, path property.Path) bool {
	if len(path) == 0 {
		return c.remove(key)
	}
	config := c.config()
	i := c.find(config, key)
	if i < 0 {
		return false
	}
	n := source.Resolve(config.Content[i+1])
	for depth, s := range path {
		at, size := -1, 1
		if name, ok := s.Key(); !ok {
			at, _ = s.Index()
		} else if n.Kind == yaml.MappingNode && !isSealed(n) {
			at, size = field(n, func(key string) bool { return key == name }), 2
		}
		if n.Kind == yaml.ScalarNode || at < 0 || at >= len(n.Content) || n.Kind == yaml.SequenceNode && size == 2 {
			return false
		}
		if depth == len(path)-1 {
			n.Content = slices.Delete(n.Content, at, at+size)
			return true
		}
		n = source.Resolve(n.Content[at+size-1])
	}
	return false
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

// edit makes a change, and keeps it for [StackConfig.Save].
func (c *StackConfig) edit(change func(*StackConfig) error) error {
	err := change(c)
	if err == nil {
		c.edits = append(c.edits, change)
	}
	return err
}

// setText sets a top-level key, before config as in Pulumi; empty text removes it.
func (c *StackConfig) setText(name, text string) {
	before := c.text(name)
	if before == text {
		return
	}
	_ = c.edit(func(c *StackConfig) error { // it fails only later
		if now := c.text(name); now != before && now != text {
			return c.otherKey()
		}
		c.putText(name, text)
		return nil
	})
}

// otherKey is the error for a file in which something else encrypts secrets than when it was read.
func (c *StackConfig) otherKey() error {
	return fmt.Errorf("another command has changed what encrypts the secrets of %s: run this one again", filepath.Base(c.Path))
}

func (c *StackConfig) putText(name, text string) {
	i := field(c.root, func(key string) bool { return key == name })
	switch {
	case text == "" && i >= 0:
		c.root.Content = slices.Delete(c.root.Content, i, i+2)
	case text == "":
	case i >= 0:
		c.root.Content[i+1] = scalar(text)
	default:
		c.root.Content = slices.Insert(c.root.Content, c.keysBeforeConfig(), scalar(name), scalar(text))
	}
}

func (c *StackConfig) keysBeforeConfig() int {
	if i := field(c.root, func(key string) bool { return key == "config" }); i >= 0 {
		return i
	}
	return len(c.root.Content)
}

// scalar returns a node of text, quoted if YAML would read something else.
func scalar(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

// Set sets a key to text, or to the ciphertext of an encrypted text.
func (c *StackConfig) Set(key, text string, encrypted bool) {
	_ = c.SetAt(key, nil, text, encrypted) // a whole value can be set
}

func (c *StackConfig) put(key, text string, encrypted bool) {
	config := c.section("config")
	if config == nil || config.Kind != yaml.MappingNode {
		config = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		if i := field(c.root, func(k string) bool { return k == "config" }); i >= 0 {
			c.root.Content[i+1] = config
		} else {
			c.root.Content = append(c.root.Content, scalar("config"), config)
		}
	}
	config.Style = 0 // {} would grow along its line
	value := scalar(text)
	if encrypted {
		value = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{scalar("secure"), value}}
	}
	if i := c.find(config, key); i >= 0 {
		value.LineComment = config.Content[i+1].LineComment
		config.Content[i+1] = value
	} else {
		config.Content = append(config.Content, scalar(key), value)
		c.found = nil
	}
}

// Encrypt replaces the ciphertexts of the file. If change returns an error, none is replaced.
func (c *StackConfig) Encrypt(change func(ciphertext string) (string, error)) error {
	return c.edit(func(c *StackConfig) error { return c.encrypt(change) })
}

func (c *StackConfig) encrypt(change func(ciphertext string) (string, error)) error {
	next := make(map[*yaml.Node]string)
	var find func(n *yaml.Node) error
	find = func(n *yaml.Node) error {
		if n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[0].Value == "secure" && n.Content[1].Kind == yaml.ScalarNode {
			changed, err := change(n.Content[1].Value)
			next[n.Content[1]] = changed
			return err
		}
		for _, child := range n.Content {
			if err := find(child); err != nil {
				return err
			}
		}
		return nil
	}
	config := c.config()
	for i := 1; i < len(config.Content); i += 2 {
		if err := find(config.Content[i]); err != nil {
			return fmt.Errorf("the configuration key %q of %s: %w", config.Content[i-1].Value, filepath.Base(c.Path), err)
		}
	}
	for n, text := range next {
		n.SetString(text)
	}
	return nil
}

// Remove removes a key given by its full name, and reports whether it was set.
func (c *StackConfig) Remove(key string) bool { return c.RemoveAt(key, nil) }

func (c *StackConfig) remove(key string) bool {
	config := c.config()
	i := c.find(config, key)
	if i < 0 {
		return false
	}
	config.Content = slices.Delete(config.Content, i, i+2)
	c.found = nil
	return true
}

// Save writes the file if something was changed, as an atomic write. If another process has changed the file since it was read,
// both changes are kept: the ones of c are made again. The error is nil then, too, unless they cannot be made any more.
func (c *StackConfig) Save() error {
	if len(c.edits) == 0 {
		return nil
	}
	return c.project.Root.Alone(c.Path, func() error {
		if err := c.renew(); err != nil {
			return err
		}
		return c.write()
	})
}

// renew reads the file again if it has changed, and makes the edits there.
func (c *StackConfig) renew() error {
	text, err := c.project.readFile(c.Path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot read the stack's configuration: %w", err)
	}
	if bytes.Equal(text, c.content) {
		return nil
	}
	now, err := c.project.parseStackConfig(c.Path, text)
	if err != nil {
		return err
	}
	for _, edit := range c.edits {
		if err := now.edit(edit); err != nil {
			return err
		}
	}
	*c = *now
	return nil
}

func (c *StackConfig) write() error {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(c.document), encoder.Close()); err != nil {
		return fmt.Errorf("cannot write %s: %w", c.Path, err)
	}
	if err := c.project.writeFile(c.Path, b.Bytes()); err != nil {
		return fmt.Errorf("cannot write the stack's configuration: %w", err)
	}
	c.content, c.edits = b.Bytes(), nil
	return nil
}
