// Command postgresql is the provider for PostgreSQL servers, a WebAssembly module for Husk.
package main

import (
	"github.com/husk-dev/husk/examples/providers/postgresql/provider"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

func main() { guest.Serve(provider.New()) }
