// Command openapi is the provider for services with an OpenAPI document, a WebAssembly module for Husk.
package main

import (
	"github.com/husk-dev/husk/examples/providers/openapi/provider"
	"github.com/husk-dev/husk/guest-sdk/guest"
	_ "github.com/husk-dev/husk/guest-sdk/http" // by which the host sends requests
)

func main() { guest.Serve(provider.New()) }
