package lsp

import (
	"context"

	"github.com/husk-dev/husk/abi/schema"
)

// stackKeys are the keys of a stack's configuration, with what they are.
var stackKeys = []struct{ name, text string }{
	{configs, "The configuration of the stack: keys that the project declares, and the settings of its providers, such as `aws:region`. `husk config set` writes them."},
	{"secretsprovider", "What encrypts the stack's secrets: a passphrase, or a key of a key service. `husk stack change-secrets-provider` writes it."},
	{"encryptedkey", "The key of the stack's secrets, encrypted by the secrets provider. Husk writes it."},
	{"encryptionsalt", "The salt of the stack's passphrase. Husk writes it."},
}

// settings returns all that the configuration of a stack may have: the keys that the project declares, and the settings of the
// default provider of each of its packages.
func (v *view) settings(ctx context.Context) *schema.Object {
	all := &schema.Object{}
	if v.project == nil {
		return all
	}
	for _, d := range v.project.Config {
		all.Properties = append(all.Properties, schema.Property{
			Name: d.Key, Type: d.Type.Schema(), Description: d.Description, Secret: d.Secret, Default: d.Default, Required: d.Default.IsNull(),
		})
	}
	for _, name := range v.packageNames() {
		p := v.pkg(ctx, name)
		if p == nil {
			continue
		}
		for _, setting := range p.Config.Properties {
			setting.Name = name + ":" + setting.Name
			setting.Required = false // the environment may have it
			if all.Property(setting.Name) == nil {
				all.Properties = append(all.Properties, setting)
			}
		}
	}
	return all
}

// fullKey returns the full name of a configuration key, which a file may have without the project's name.
func (v *view) fullKey(key string) string {
	if v.project == nil {
		return key
	}
	if full, err := v.project.ConfigKey(key); err == nil {
		return full
	}
	return key
}

// inSettings returns a place in the configuration of a stack with the full name of its key.
func (v *view) inSettings(at *place) *place {
	full := *at
	full.path = append([]string{}, at.path...)
	if len(full.path) > 1 {
		full.path[1] = v.fullKey(full.path[1])
	}
	return &full
}

// declaredName returns the name by which the program refers to the key at a path of a stack's configuration, empty for another.
func (v *view) declaredName(path []string) string {
	if len(path) != 2 || path[0] != configs || v.project == nil {
		return ""
	}
	for _, d := range v.project.Config {
		if d.Key == v.fullKey(path[1]) {
			return d.Name
		}
	}
	return ""
}

// aboutSetting describes a key of a stack's configuration.
func (v *view) aboutSetting(ctx context.Context, at *place) string {
	switch {
	case len(at.path) == 1 && at.isKey:
		for _, k := range stackKeys {
			if k.name == at.path[0] {
				return paragraphs(heading(k.name, ""), k.text)
			}
		}
	case len(at.path) > 1 && at.path[0] == configs:
		return v.aboutInput(ctx, v.inSettings(at), 1, v.settings(ctx))
	}
	return ""
}

// stackConfig adds the keys and values of a stack's configuration.
func (c *completer) stackConfig(ctx context.Context) {
	if c.cursor.spaceless { // the colon is in the middle of a key
		c.cursor.from, c.cursor.spaceless = indentOf(c.cursor.document.line(c.cursor.line)), false
	}
	at := c.cursor.place()
	if at == nil || c.project == nil {
		return
	}
	path := at.path
	if at.isKey {
		c.siblings(at)
		path = path[:len(path)-1]
	}
	switch {
	case len(path) == 0 && at.isKey:
		for _, k := range stackKeys {
			c.key(k.name, "", k.text, k.name == configs, false)
		}
	case len(path) > 0 && path[0] == configs:
		for i, key := range c.present {
			if len(path) == 1 {
				c.present[i] = c.fullKey(key)
			}
		}
		c.isData = true
		full := c.inSettings(&place{at.node, at.isKey, path, at.around})
		c.object(ctx, full, full.path, 1, c.settings(ctx), nil)
	}
}
