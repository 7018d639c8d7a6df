// Package tf6 adapts Terraform providers of protocol 6.
package tf6

import (
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/terraform"
	"github.com/husk-dev/husk/guest-sdk/terraform/internal/adapter"
)

// Serve serves the provider to the host that runs the module, and returns only if it fails. name is
// the provider's address, such as registry.terraform.io/hashicorp/random.
func Serve(name string, factory func() tfprotov6.ProviderServer) error {
	p, err := adapter.Ported(name, &server{ProviderServer: factory()})
	if err != nil {
		return err
	}
	adapter.ForwardLog()
	guest.ServeProvider(p)
	return nil
}

// Provider returns the provider for a native program, such as a test. Each configuration needs a server of its own. name and
// version are the package's.
func Provider(name, version string, of tfprotov6.ProviderServer, mapping terraform.Mapping) (abi.Provider, error) {
	return adapter.New(name, version, &server{ProviderServer: of}, mapping), nil
}
