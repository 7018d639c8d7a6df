package provider

import (
	"context"

	"github.com/husk-dev/husk/guest-sdk/pulumi"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// Main serves the provider from the first call of the host on, and returns at once.
func Main(name string, provMaker func(*HostClient) (pulumirpc.ResourceProviderServer, error)) error {
	return MainContext(context.Background(), name, provMaker)
}

// MainContext is Main. Calls have contexts of their own.
func MainContext(_ context.Context, name string, provMaker func(*HostClient) (pulumirpc.ResourceProviderServer, error)) error {
	return pulumi.Serve(name, func(engine string) (pulumirpc.ResourceProviderServer, error) {
		host, err := NewHostClient(engine)
		if err != nil {
			return nil, err
		}
		return provMaker(host)
	})
}
