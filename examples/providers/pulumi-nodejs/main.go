// Command pulumi-nodejs is the provider of the dynamic resources that Pulumi programs for Node.js have, a
// WebAssembly module for Husk.
package main

import (
	"github.com/husk-dev/husk/examples/providers/pulumi-nodejs/provider"
	"github.com/husk-dev/husk/guest-sdk/guest"
	_ "github.com/husk-dev/husk/guest-sdk/http" // by which the host sends requests
)

func main() { guest.ServeProvider(provider.New()) }
