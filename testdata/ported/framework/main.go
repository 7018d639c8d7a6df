// Command framework is a provider on Terraform's plugin framework, as its authors would write it.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/husk-dev/husk/testdata/ported/framework/shelf"
)

func main() {
	err := providerserver.Serve(context.Background(), shelf.New, providerserver.ServeOpts{Address: "registry.terraform.io/husk-dev/shelf"})
	if err != nil {
		log.Fatal(err)
	}
}
