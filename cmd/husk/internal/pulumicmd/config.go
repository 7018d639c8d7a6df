package pulumicmd

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/cmd/husk/internal/stackcmd"
	"github.com/husk-dev/husk/internal/workspace"
)

// configValue is a value of the configuration in Pulumi's JSON.
type configValue struct {
	// Value is nil for a secret that is not shown. Object is a list or object, nil for all else.
	Value  *string         `json:"value,omitempty"`
	Object json.RawMessage `json:"objectValue,omitempty"`
	Secret bool            `json:"secret"`
}

// configValueOf returns a value as Pulumi writes it.
func configValueOf(w *workspace.Workspace, c *workspace.Config, e abi.ConfigEntry, part property.Path) configValue {
	answer := configValue{Value: &e.Value, Secret: e.Secret}
	v, set := c.Get(e.Key)
	for _, declared := range w.Project.Config {
		if !set && declared.Key == e.Key {
			v = declared.Default
		}
	}
	v, _ = part.Get(v)
	_, isList := v.AsArray()
	if _, isObject := v.AsObject(); isList || isObject {
		answer.Object = json.RawMessage(e.Value)
	}
	return answer
}

func (a *answers) config(ctx context.Context, w *workspace.Workspace, c *workspace.Config, _ []string) error {
	decrypt := func(string) (string, error) { return "", nil }
	show, err := a.find("config").Flags().GetBool("show-secrets")
	if err != nil {
		return err
	}
	if show {
		a.Secrets.Show()
		decrypt = c.Decrypt(ctx)
	}
	entries, err := w.Project.ConfigEntries(c.StackConfig, decrypt)
	if err != nil {
		return err
	}
	values := make(map[string]configValue, len(entries))
	for _, e := range entries {
		v := configValue{Secret: true}
		if show || !e.Secret {
			v = configValueOf(w, c, e, nil)
		}
		values[e.Key] = v
	}
	return a.WriteJSON(values)
}

func (a *answers) getConfig(ctx context.Context, w *workspace.Workspace, c *workspace.Config, args []string) error {
	isPath, err := a.find("config get").Flags().GetBool("path")
	if err != nil {
		return err
	}
	entry, err := stackcmd.LookupConfig(ctx, a.App, w, c, args[0], isPath)
	if err != nil {
		return err
	}
	_, part, err := stackcmd.ConfigKey(w.Project, args[0], isPath)
	if err != nil {
		return err
	}
	return a.WriteJSON(configValueOf(w, c, entry, part))
}

// setJSON sets the values in the JSON of pulumi config --json.
func setJSON(ctx context.Context, w *workspace.Workspace, c *workspace.Config, text string) error {
	var values map[string]struct {
		Value  *string `json:"value"`
		Secret bool    `json:"secret"`
	}
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		return cli.Usagef("--json: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v := values[name]
		if v.Value == nil {
			return cli.Usagef("--json: %s has no value: write it with config --json --show-secrets", name)
		}
		key, err := w.Project.ConfigKey(name)
		if err != nil {
			return cli.Usage(err)
		}
		if err := c.Put(ctx, key, nil, *v.Value, v.Secret || c.IsSecret(key)); err != nil {
			return err
		}
	}
	return c.Save()
}

// setConfig sets keys of a configuration to values, written KEY=VALUE.
func setConfig(ctx context.Context, w *workspace.Workspace, c *workspace.Config, texts []string, isPath bool) error {
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return cli.Usagef("--config %s: must have the form KEY=VALUE", text)
		}
		key, part, err := stackcmd.ConfigKey(w.Project, name, isPath)
		if err != nil {
			return cli.Usage(err)
		}
		if err := c.Put(ctx, key, part, value, c.IsSecret(key)); err != nil {
			return err
		}
	}
	return c.Save()
}
