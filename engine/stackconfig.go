package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/autonaming"
	"github.com/husk-dev/husk/engine/builtin"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/edit"
	"github.com/husk-dev/husk/internal/jsonerror"
)

// readNaming reads the policy for names from the stack's configuration.
func (r *runState) readNaming() error {
	config := func(key string) (abi.ConfigEntry, bool) {
		i := slices.IndexFunc(r.Config, func(c abi.ConfigEntry) bool { return c.Key == key })
		if i < 0 {
			return abi.ConfigEntry{}, false
		}
		return r.Config[i], true
	}
	policy, ok := config(autonaming.Key)
	if !ok {
		return nil
	}
	var err error
	r.naming, err = autonaming.Parse(policy.Value, autonaming.Names{
		Organization: r.Organization, Project: r.Project, Stack: r.Stack, Config: config,
	})
	return err
}

// migrate gives resources that name no provider, as those of old states, the default
// one of their package, configured as the stack is. Nothing can be done with them else.
func (r *runState) migrate(ctx context.Context) (*state.Snapshot, error) {
	before := r.State.Snapshot()
	snapshot, given, err := edit.AddDefaultProviders(before, r.packageConfig)
	if err != nil || len(given) == 0 || r.dryRun {
		return snapshot, err
	}
	if err := r.State.Replace(ctx, snapshot); err != nil {
		return before, fmt.Errorf("saving the providers of resources that named none: %w", err)
	}
	return r.State.Snapshot(), nil
}

// defaultsAllowed honours the configuration pulumi:disable-default-providers,
// a JSON list of package names or "*". The engine's own package is always there.
func (r *runState) defaultsAllowed(pkg string) error {
	if pkg == builtin.Package {
		return nil
	}
	for _, c := range r.Config {
		if c.Key != "pulumi:disable-default-providers" {
			continue
		}
		var packages []string
		if err := json.Unmarshal([]byte(c.Value), &packages); err != nil {
			return fmt.Errorf("configuration pulumi:disable-default-providers must be a JSON list of package names: %w", jsonerror.Explain([]byte(c.Value), err))
		}
		if slices.Contains(packages, pkg) || slices.Contains(packages, "*") {
			return fmt.Errorf("the default provider of package %q is disabled by configuration: "+
				"give the resource an explicit provider", pkg)
		}
	}
	return nil
}

// packageConfig returns the stack's configuration of a package.
func (r *runState) packageConfig(pkg string) property.Map {
	var entries []property.Entry
	for _, c := range r.Config {
		key, ok := strings.CutPrefix(c.Key, pkg+":")
		if !ok {
			continue
		}
		v := property.String(c.Value)
		if c.Secret {
			v = property.Secret(v)
		}
		entries = append(entries, property.Entry{Key: key, Value: v})
	}
	return property.NewMap(entries...)
}

func (r *runState) runContext() abi.RunContext {
	return abi.RunContext{
		Project: r.Project, Stack: r.Stack, Organization: r.Organization,
		Config: r.Config, DryRun: r.unknowns(), Parallel: uint32(r.Parallel),
	}
}

// packageContext is the context of a component or method of a package: of the secrets in
// the configuration it has those of the package alone.
func (r *runState) packageContext(pkg string) abi.RunContext {
	c := r.runContext()
	c.Config = nil
	for _, entry := range r.Config {
		if namespace, _, _ := strings.Cut(entry.Key, ":"); !entry.Secret || namespace == pkg {
			c.Config = append(c.Config, entry)
		}
	}
	return c
}
