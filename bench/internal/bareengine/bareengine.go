// Package bareengine calls the provider of the benchmarks (bench/record) as an engine does, and does nothing else, so that the
// figures are the provider's.
package bareengine

import (
	"context"
	"errors"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host"
)

// Configure makes a configuration of the provider's module.
func Configure(ctx context.Context, module *host.Module, options host.ProviderOptions) (*host.Provider, error) {
	p, err := module.NewProvider(ctx, options)
	if err != nil {
		return nil, err
	}
	_, err = p.Handshake(ctx, abi.HandshakeRequest{
		Engine:   "bench",
		Features: abi.FeaturesSecrets | abi.FeaturesResourceReferences | abi.FeaturesOutputs | abi.FeaturesAutonaming | abi.FeaturesPreview,
	})
	if err == nil {
		err = p.Configure(ctx, Configuration())
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Configuration is the configuration of all providers.
func Configuration() abi.ConfigureRequest {
	return abi.ConfigureRequest{
		URN: "urn:pulumi:dev::bench::pulumi:providers:record::default", Name: "default", Type: "pulumi:providers:record", ID: "1",
	}
}
