package plugins

import (
	"context"
	"log/slog"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host"
)

// Granted opens a provider of a module that no project lists. Each has a configuration of its own, in
// fresh instances, and is closed with its Close method. Responses that do not fit the schema are passed
// on, for conformance tests. Logs and output become diagnostics if logs is set, and are dropped otherwise.
func (p *Plugins) Granted(ctx context.Context, m *Module, grants host.Grants, logs bool) (abi.Provider, error) {
	grants.HowToGrant = flagToGrant
	options := host.ProviderOptions{Name: m.Name, Grants: grants, Limits: p.limits.of(m.Name), Instances: p.options.Instances, Lenient: true}
	if logs {
		options.Logger = slog.New(&records{to: p.options.Diagnostics})
	}
	return loaded(m.module.NewProvider(ctx, options))
}
