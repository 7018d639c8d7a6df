// Command sdkv2 is a provider on Terraform's plugin SDK, as its authors would write it.
package main

import (
	"github.com/hashicorp/terraform-plugin-sdk/v2/plugin"

	"github.com/husk-dev/husk/testdata/ported/sdkv2/closet"
)

func main() {
	plugin.Serve(&plugin.ServeOpts{ProviderFunc: closet.New, ProviderAddr: "registry.terraform.io/husk-dev/closet"})
}
