package program

import (
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/internal/base/sorted"
	"go.yaml.in/yaml/v3"
)

// ConfigDeclaration is a project file's declaration of one configuration key.
type ConfigDeclaration struct {
	// Key is the full name, <namespace>:<key>.
	Key string
	// Name is the name as it is written, by which a program refers to the value.
	Name string
	Type ConfigType
	// Secret says that the value is sensitive even if a stack has it in plain text.
	Secret bool
	// Default is the value if a stack sets none; null if there is none.
	Default     property.Value
	Description string
	// File and Position are where the key is declared.
	File     *source.File
	Position source.Position
}

// SetCommand returns the command that sets a value of the key in a stack of the project.
func (d ConfigDeclaration) SetCommand(project string) string {
	flag := ""
	if d.Secret {
		flag = "--secret "
	}
	return fmt.Sprintf("husk config set %s%s <value>", flag, strings.TrimPrefix(d.Key, project+":"))
}

// Missing returns the error for a stack of the project that has no value of the key.
func (d ConfigDeclaration) Missing(project string) source.Diagnostic {
	e := d.File.Errorf(d.Position, "the configuration key %q has no value", d.Name)
	e.Detail = "set one with: " + d.SetCommand(project)
	return e
}

// Unusable returns the error for a value of the key that does not have its type.
func (d ConfigDeclaration) Unusable(project string, err error) source.Diagnostic {
	e := d.File.Errorf(d.Position, "the value of the configuration key %q cannot be used: %v", d.Name, err)
	e.Detail = "set another with: " + d.SetCommand(project)
	return e
}

// declarations reads the keys of config, and the keys of configuration that config does not declare, as in Pulumi. The project's
// name is known.
func (d *decoder) declarations() {
	declared := make(map[string]int, len(d.project.Config)) // the indexes of keys
	for i, c := range d.project.Config {
		declared[c.Key] = i
	}
	before := len(d.project.Config)
	for _, f := range d.config {
		d.declare(f, declared, before)
	}
	before = len(d.project.Config)
	for _, f := range d.configuration {
		d.declare(f, declared, before)
	}
}

// declare adds a declaration, unless its key is among the first ones, which have precedence.
func (d *decoder) declare(f source.Field, declared map[string]int, first int) {
	c, ok := d.declaration(f, "the declaration of a configuration key")
	if !ok {
		return
	}
	if i, ok := declared[c.Key]; ok {
		switch earlier := d.project.Config[i]; {
		case i < first:
			d.Warnf(f.Key, "the configuration key %q is declared on line %d of %s, too, which is used", c.Key, earlier.Position.Line, earlier.File.Name)
		default:
			d.Errorf(f.Key, "the configuration key %q is declared twice; the first is on line %d", c.Key, earlier.Position.Line)
		}
		return
	}
	declared[c.Key] = len(d.project.Config)
	d.project.Config = append(d.project.Config, c)
}

// declaration reads one key: {type, default, ...}, or just the value. what names the declaration in errors.
func (d *decoder) declaration(f source.Field, what string) (c ConfigDeclaration, ok bool) {
	c = ConfigDeclaration{Name: f.Name, File: d.File, Position: source.Of(f.Key)}
	key, err := d.project.ConfigKey(f.Name)
	if err != nil {
		d.Errorf(f.Key, "%v", err)
		return c, false
	}
	c.Key = key
	if f.Value.Kind != yaml.MappingNode {
		c.Default, ok = d.Value(f.Value)
		c.Type = typeOf(c.Default)
		return c, ok
	}
	quiet := &source.Report{File: d.File}
	secret := slices.ContainsFunc(quiet.Fields(f.Value, what), func(g source.Field) bool {
		return g.Name == "secret" && g.Value.Value == "true"
	})
	if secret {
		d.File.Hide(f.Key)
	}
	var defaultNode, items *yaml.Node
	value := func(n *yaml.Node) (property.Value, bool) {
		defaultNode = n
		return d.Value(n)
	}
	ok = d.Read(f.Value, what,
		source.KeyOf("type", &c.Type, d.configType),
		source.KeyOf("default", &c.Default, value),
		source.KeyOf("value", &c.Default, value),
		d.BoolKey("secret", &c.Secret),
		d.TextKey("description", &c.Description, "the description"),
		source.NodeKey("items", &items),
		source.KeyOf("name", &c.Key, func(n *yaml.Node) (string, bool) {
			name, ok := d.Text(n, "the name")
			if !ok {
				return "", false
			}
			key, err := d.project.ConfigKey(name)
			if err != nil {
				d.Errorf(n, "%v", err)
			}
			return key, err == nil
		}),
	)
	if items != nil {
		var read bool
		c.Type.Items, read = d.items(items)
		ok = ok && read
	}
	if !ok {
		return c, false
	}
	if c.Type.Kind == ConfigAny {
		c.Type = typeOf(c.Default)
	}
	if !c.Default.IsNull() {
		if err := c.Type.Check(c.Default); err != nil {
			d.Errorf(defaultNode, "the default of %q does not fit its type: %v", c.Name, err)
			return c, false
		}
	}
	return c, true
}

func (d *decoder) configType(n *yaml.Node) (ConfigType, bool) {
	name, ok := d.Text(n, "a type")
	if !ok {
		return ConfigType{}, false
	}
	t, ok := parseConfigType(name)
	if !ok {
		d.Errorf(n, "unknown type %q: a configuration value is a %s%s", name, strings.Join(configKinds[1:], ", "),
			source.DidYouMean(name, configKinds[1:]))
	}
	return t, ok
}

// items reads the type of an array's elements: {type: string}.
func (d *decoder) items(n *yaml.Node) (*ConfigType, bool) {
	var t ConfigType
	var items *ConfigType
	read := d.Read(n, "items", source.KeyOf("type", &t, d.configType), source.KeyOf("items", &items, d.items))
	t.Items = items
	return &t, read
}

// ConfigEntries returns the configuration of a deployment, sorted by key: the stack's, and the
// project's defaults for the rest. decrypt opens a ciphertext.
func (p *Project) ConfigEntries(stack *StackConfig, decrypt func(ciphertext string) (string, error)) ([]abi.ConfigEntry, error) {
	entries := make([]abi.ConfigEntry, 0, len(p.Config))
	for _, key := range stack.Keys() {
		text, secret, err := stack.Text(key, decrypt)
		if err != nil {
			return nil, err
		}
		entries = append(entries, abi.ConfigEntry{Key: key, Value: text, Secret: secret})
	}
	index := make(map[string]int, len(entries))
	for i, e := range entries {
		index[e.Key] = i
	}
	for _, c := range p.Config {
		i, set := index[c.Key]
		if !set && !c.Default.IsNull() {
			text, err := ConfigText(c.Default)
			if err != nil {
				return nil, err
			}
			entries = append(entries, abi.ConfigEntry{Key: c.Key, Value: text})
			i, set = len(entries)-1, true
		}
		if set && c.Secret {
			entries[i].Secret = true
		}
	}
	sorted.By(entries, func(a, b abi.ConfigEntry) int { return strings.Compare(a.Key, b.Key) })
	return entries, nil
}

// DeclaredConfig returns the configuration of a run as the project declares it: with its defaults and secrets. The error is about
// values that are missing, or of another type.
func (p *Project) DeclaredConfig(run abi.RunContext) ([]abi.ConfigEntry, error) {
	config := slices.Clone(run.Config)
	var ds source.Diagnostics
	for _, declared := range p.Config {
		i := slices.IndexFunc(config, func(e abi.ConfigEntry) bool { return e.Key == declared.Key })
		switch {
		case i >= 0:
			if _, err := declared.Type.Parse(config[i].Value); err != nil {
				ds = append(ds, declared.Unusable(run.Project, err))
			}
			config[i].Secret = config[i].Secret || declared.Secret
		case declared.Default.IsNull():
			ds = append(ds, declared.Missing(run.Project))
		default:
			text, err := ConfigText(declared.Default)
			if err != nil {
				return nil, err
			}
			config = append(config, abi.ConfigEntry{Key: declared.Key, Value: text, Secret: declared.Secret})
		}
	}
	return config, ds.Err()
}
