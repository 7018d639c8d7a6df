package program

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
	"go.yaml.in/yaml/v3"
)

// StackConfig is the configuration file of one stack, Husk.<stack>.yaml or Pulumi.<stack>.yaml.
// Changes keep comments and order, until [StackConfig.Save] writes them. It is not safe for
// concurrent use.
type StackConfig struct {
	// Path is the file, which need not exist yet.
	Path    string
	project *Project
	file    *source.File
	// content is the file as it was read or saved.
	content []byte
	// document holds root, and the comments around it.
	document *yaml.Node
	root     *yaml.Node
	// edits are the changes since the file was read or saved.
	edits []func(*StackConfig) error
	// found are the indexes of the keys, nil if they are not known.
	found map[string]int
}

// stackSyntax is Pulumi's for stack names; a name becomes a part of file names.
var stackSyntax = lazyregexp.Regexp{Syntax: `^[A-Za-z0-9_-][A-Za-z0-9_.-]*$`}

// CheckStackName returns an error if the name of a stack is not valid.
func CheckStackName(name string) error {
	if len(name) > maxName || !stackSyntax.Get().MatchString(name) {
		return fmt.Errorf("invalid stack name %q: it may have letters, digits, and the characters _ . - only, at most 100 of them", name)
	}
	return nil
}

// StackConfig reads the configuration of a stack, empty if there is no file. The error may be
// [source.Diagnostics].
func (p *Project) StackConfig(stack string) (*StackConfig, error) {
	if err := CheckStackName(stack); err != nil {
		return nil, err
	}
	tool, other := "Husk", "Pulumi"
	if strings.HasPrefix(p.File.Name, other) {
		tool, other = other, tool
	}
	for _, name := range []string{tool + "." + stack + ".yaml", tool + "." + stack + ".yml", other + "." + stack + ".yaml", other + "." + stack + ".yml"} {
		path := filepath.Join(p.StackConfigDir, name)
		text, err := p.readFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read the stack's configuration: %w", err)
		}
		return p.parseStackConfig(path, text)
	}
	return newStackConfig(p, filepath.Join(p.StackConfigDir, tool+"."+stack+".yaml"), nil), nil
}

var stackKeys = []string{"secretsprovider", "encryptedkey", "encryptionsalt", "config", "environment"}

func newStackConfig(p *Project, path string, text []byte) *StackConfig {
	root := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	return &StackConfig{
		Path: path, project: p, file: p.newFile(path, text), content: text, root: root,
		document: &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{root}},
	}
}

func (p *Project) parseStackConfig(path string, text []byte) (*StackConfig, error) {
	c := newStackConfig(p, path, text)
	document, err := source.ParseDocument(c.file, text)
	if errors.Is(err, source.ErrEmpty) {
		c.document.HeadComment = comments(text)
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	c.document, c.root = document, document.Content[0]
	r := &source.Report{File: c.file}
	for _, f := range r.Fields(c.root, "a stack's configuration") {
		switch f.Name {
		case "config":
			for _, entry := range r.Fields(f.Value, "config") {
				if _, err := p.ConfigKey(entry.Name); err != nil {
					r.Errorf(entry.Key, "%v", err)
				}
				r.Value(entry.Value)
			}
		case "environment":
			if !source.IsEmpty(f.Value) {
				r.Errorf(f.Key, "environments are not supported, so their values would be missing: set them under config")
			}
		case "secretsprovider", "encryptedkey", "encryptionsalt":
			r.Text(f.Value, f.Name)
		default:
			r.Unknown(f, "a stack's configuration", stackKeys)
		}
	}
	if err := r.Diagnostics().Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// comments returns the comment lines of a file that has nothing else.
func comments(text []byte) string {
	var lines []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "\n")
}

// Check returns the entries that do not fit the project's declarations, at their lines of the file: values of another type, and,
// as warnings, keys of a YAML program that nothing declares. Encrypted values are checked when they are used. misfits are the
// full keys of values that cannot be used.
func (c *StackConfig) Check() (ds source.Diagnostics, misfits []string) {
	r := &source.Report{File: c.file}
	config := c.config()
	for i := 0; i+1 < len(config.Content); i += 2 {
		key, n := config.Content[i], source.Resolve(config.Content[i+1])
		full, err := c.project.ConfigKey(key.Value)
		if err != nil {
			continue // reading the file reports it
		}
		at := slices.IndexFunc(c.project.Config, func(d ConfigDeclaration) bool { return d.Key == full })
		if at < 0 {
			c.checkUndeclared(r, key, full)
			continue
		}
		d := c.project.Config[at]
		if err := c.checkValue(r, d.Type, n); err != nil {
			misfits = append(misfits, full)
			r.Add(r.File.Errorf(source.Of(n), "the value of the configuration key %q cannot be used: %v", d.Name, err).
				With(fmt.Sprintf("it is declared in %s:%d", d.File.Name, d.Position.Line)))
		}
	}
	return r.Diagnostics(), misfits
}

// At returns a problem of the value of a key, given by its full name, or of its part at a path: where the file has it, else
// where the project has its default, else of the file as a whole. The line of a secret is not shown.
func (c *StackConfig) At(key string, path property.Path, secret bool, summary string) source.Diagnostic {
	config := c.config()
	if i := c.find(config, key); i >= 0 {
		at := config.Content[i]
		if secret {
			c.file.Hide(at)
		}
		return c.file.Errorf(source.Of(part(at, source.Resolve(config.Content[i+1]), path)), "%s", summary)
	}
	for _, d := range c.project.Config {
		if d.Key == key && !d.Default.IsNull() {
			return d.File.Errorf(d.Position, "%s", summary)
		}
	}
	return c.file.Errorf(source.Position{}, "%s", summary)
}

// part returns the key of the part of a value at a path, or of as much of it as there is. A list has elements in place of keys.
func part(key, value *yaml.Node, path property.Path) *yaml.Node {
	for _, segment := range path {
		if name, ok := segment.Key(); ok && value.Kind == yaml.MappingNode {
			i := field(value, func(key string) bool { return key == name })
			if i < 0 {
				return key
			}
			key, value = value.Content[i], source.Resolve(value.Content[i+1])
			continue
		}
		i, ok := segment.Index()
		if !ok || value.Kind != yaml.SequenceNode || i >= len(value.Content) {
			return key
		}
		key, value = value.Content[i], source.Resolve(value.Content[i])
	}
	return key
}

// checkUndeclared reports a key of the project itself that its program cannot read.
func (c *StackConfig) checkUndeclared(r *source.Report, key *yaml.Node, full string) {
	namespace, name, _ := strings.Cut(full, ":")
	if namespace != c.project.Name || c.project.Runtime != RuntimeYAML {
		return
	}
	var declared []string
	for _, d := range c.project.Config {
		if rest, ok := strings.CutPrefix(d.Key, namespace+":"); ok {
			declared = append(declared, rest)
		}
	}
	r.Warnf(key, "the project declares no configuration key %q%s", name, source.DidYouMean(name, declared))
}

// checkValue reports whether a value that is not encrypted fits a type. A text fits any type, because husk config set writes
// texts.
func (c *StackConfig) checkValue(r *source.Report, t ConfigType, n *yaml.Node) error {
	switch n.Kind {
	case yaml.ScalarNode:
		if source.IsNull(n) {
			return nil
		}
		_, err := t.Parse(n.Value)
		return err
	case yaml.MappingNode, yaml.SequenceNode:
		v, ok := (&source.Report{File: r.File}).Value(n)
		if v = sealed(v); !ok || v.ContainsSecrets() {
			return nil
		}
		return t.Check(v)
	}
	return nil
}

// field returns the index of the first key that matches, -1 where none does.
func field(mapping *yaml.Node, match func(key string) bool) (index int) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if match(mapping.Content[i].Value) {
			return i
		}
	}
	return -1
}

func (c *StackConfig) section(name string) *yaml.Node {
	i := field(c.root, func(key string) bool { return key == name })
	if i < 0 {
		return nil
	}
	return source.Resolve(c.root.Content[i+1])
}

func (c *StackConfig) text(name string) string {
	n := c.section(name)
	if n == nil || source.IsNull(n) {
		return ""
	}
	return n.Value
}

// SecretsProvider returns the provider that encrypts the stack's secrets, empty for a passphrase.
func (c *StackConfig) SecretsProvider() string { return c.text("secretsprovider") }

// SetSecretsProvider sets what encrypts the stack's secrets.
func (c *StackConfig) SetSecretsProvider(s string) { c.setText("secretsprovider", s) }

// EncryptedKey returns the key of the stack that a key service has encrypted, in base64, empty if there is none.
func (c *StackConfig) EncryptedKey() string { return c.text("encryptedkey") }

// SetEncryptedKey sets the key of the stack that a key service has encrypted.
func (c *StackConfig) SetEncryptedKey(s string) { c.setText("encryptedkey", s) }

// EncryptionSalt returns the salt of the stack's passphrase, empty if there is none.
func (c *StackConfig) EncryptionSalt() string { return c.text("encryptionsalt") }

// SetEncryptionSalt sets the salt of the stack's passphrase.
func (c *StackConfig) SetEncryptionSalt(s string) { c.setText("encryptionsalt", s) }

func (c *StackConfig) config() *yaml.Node {
	if n := c.section("config"); n != nil && n.Kind == yaml.MappingNode {
		return n
	}
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
}

// find returns the index of a key, with or without the project's namespace, -1 if it is not set.
func (c *StackConfig) find(config *yaml.Node, key string) int {
	if c.found == nil {
		c.found = map[string]int{}
		for i := 0; i+1 < len(config.Content); i += 2 {
			full, err := c.project.ConfigKey(config.Content[i].Value)
			if _, taken := c.found[full]; err == nil && !taken {
				c.found[full] = i
			}
		}
	}
	if i, ok := c.found[key]; ok {
		return i
	}
	return -1
}

// Keys returns the full names of the keys that are set, in alphabetical order.
func (c *StackConfig) Keys() []string {
	config := c.config()
	var keys []string
	for i := 0; i+1 < len(config.Content); i += 2 {
		if key, err := c.project.ConfigKey(config.Content[i].Value); err == nil {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Get returns the value of a key: text, or a value whose encrypted parts are secret ciphertexts.
func (c *StackConfig) Get(key string) (property.Value, bool) {
	config := c.config()
	i := c.find(config, key)
	if i < 0 {
		return property.Null, false
	}
	n := source.Resolve(config.Content[i+1])
	if n.Kind == yaml.ScalarNode {
		if source.IsNull(n) {
			return property.String(""), true
		}
		return property.String(n.Value), true
	}
	v, _ := (&source.Report{File: c.file}).Value(n)
	return sealed(v), true
}

// sealed turns each {secure: ciphertext} into a secret.
func sealed(v property.Value) property.Value {
	return v.Transform(func(v property.Value) property.Value {
		m, _ := v.AsObject()
		if text, ok := m.Get("secure").AsString(); ok && m.Len() == 1 {
			return property.Secret(property.String(text))
		}
		return v
	})
}

// Text returns the value of a key: a string as it is, anything else as JSON. secret says that a
// part was encrypted.
func (c *StackConfig) Text(key string, decrypt func(ciphertext string) (string, error)) (text string, secret bool, err error) {
	v, ok := c.Get(key)
	if !ok {
		return "", false, fmt.Errorf("the configuration key %q is not set", key)
	}
	v, secret, err = opened(v, decrypt)
	if err != nil {
		return "", true, fmt.Errorf("cannot decrypt the configuration key %q of %s: %w", key, filepath.Base(c.Path), err)
	}
	text, err = ConfigText(v)
	return text, secret, err
}

// opened decrypts the parts of a value that are secret.
func opened(v property.Value, decrypt func(ciphertext string) (string, error)) (_ property.Value, secret bool, err error) {
	v, err = v.TransformPaths(func(_ property.Path, v property.Value) (property.Value, error) {
		inner, ok := v.AsSecret()
		if !ok {
			return v, nil
		}
		secret = true
		ciphertext, _ := inner.AsString()
		text, err := decrypt(ciphertext)
		return property.String(text), err
	})
	return v, secret, err
}
