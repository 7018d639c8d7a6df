// Command postgresql is the provider for PostgreSQL servers: a WebAssembly module for
// Husk. What it does is in package provider.
package main

import (
	"github.com/husk-dev/husk/examples/providers/postgresql/provider"
	guest "github.com/husk-dev/husk/guest-sdk"
)

func main() { guest.Serve(provider.New()) }
