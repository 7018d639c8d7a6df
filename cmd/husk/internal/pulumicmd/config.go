package pulumicmd

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/cmd/husk/internal/stackcmd"
	"github.com/husk-dev/husk/internal/workspace"
)

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
