package adapter

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"

	"github.com/husk-dev/husk/guest-sdk/terraform"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/tf"
)

// only are the names of the types that a port has, with * for any text. It serves no others, even if the build could not leave them
// out.
type only []string

func (o only) has(name string) bool {
	return slices.ContainsFunc(o, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// of returns the server and the mapping without the types that were not chosen.
func (o only) of(server tf.Server, mapping terraform.Mapping) (tf.Server, terraform.Mapping) {
	if o == nil {
		return server, mapping
	}
	choose(o, mapping.Resources)
	choose(o, mapping.DataSources)
	choose(o, mapping.Ephemerals)
	choose(o, mapping.Actions)
	return choosing{server, o}, mapping
}

func choose[V any](o only, all map[string]V) {
	maps.DeleteFunc(all, func(name string, _ V) bool { return !o.has(name) })
}

// choosing is a provider with only the types that a port has chosen.
type choosing struct {
	tf.Server
	only only
}

func (c choosing) Schemas(ctx context.Context) (*tf.Schemas, tf.Diagnostics, error) {
	schemas, found, err := c.Server.Schemas(ctx)
	if err != nil {
		return nil, found, err
	}
	var names []string
	for _, types := range []map[string]*tf.Schema{schemas.Resources, schemas.DataSources, schemas.Ephemerals, schemas.Actions} {
		choose(c.only, types)
		names = slices.AppendSeq(names, maps.Keys(types))
	}
	for _, pattern := range c.only {
		if !slices.ContainsFunc(names, only{pattern}.has) {
			return nil, found, errors.New("--only " + pattern + ": the provider has no type of that name")
		}
	}
	return schemas, found, nil
}
