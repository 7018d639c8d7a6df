// Command mux is a provider of which one half is on Terraform's plugin SDK and the other on the plugin
// framework, as its authors would write it while they move from one to the other.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/husk-dev/husk/testdata/ported/mux/attic"
)

func main() {
	server, err := attic.Server(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	if err := tf6server.Serve("registry.terraform.io/husk-dev/attic", server); err != nil {
		log.Fatal(err)
	}
}
