package capability

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/internal/base/named"
)

// maxEnvironment bounds the granted variables in bytes, as operating systems do for one of them.
const maxEnvironment = 128 << 10

// Environment returns the environment of a guest, and the names of the granted variables in it.
func Environment(grants grant.Set) (env, granted []string, _ error) {
	size, values := 0, map[string]string{}
	for _, name := range grants.Env {
		if err := errors.Join(grant.CheckVariable(name), named.CheckVariable(name)); err != nil {
			return nil, nil, err
		}
		if value, ok := named.Lookup(name); ok {
			values[name], granted = value, append(granted, name)
		}
	}
	for _, source := range slices.Sorted(maps.Keys(grants.EnvVarMappings)) {
		target := grants.EnvVarMappings[source]
		if err := grant.CheckVariable(target); err != nil {
			return nil, nil, err
		}
		if !slices.Contains(grants.Env, source) {
			return nil, nil, fmt.Errorf("the environment variable %s is to be seen as %s, but is not granted", source, target)
		}
		if value, ok := named.Lookup(source); ok {
			values[target] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		env = append(env, name+"="+values[name])
		size += len(name) + len(values[name]) + 2
	}
	if size > maxEnvironment {
		return nil, nil, fmt.Errorf("the granted environment variables take %d bytes, at most %d are possible", size, maxEnvironment)
	}
	if len(grants.FS) > 0 {
		env = append(env, "PWD="+grant.WorkingDirectory)
	}
	return env, granted, nil
}
