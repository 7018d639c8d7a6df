// Command sdkv1 is a provider on the first version of Terraform's plugin SDK, as its authors would write it.
package main

import (
	"github.com/hashicorp/terraform-plugin-sdk/plugin"

	"github.com/husk-dev/husk/testdata/ported/sdkv1/drawer"
)

func main() {
	plugin.Serve(&plugin.ServeOpts{ProviderFunc: drawer.New})
}
