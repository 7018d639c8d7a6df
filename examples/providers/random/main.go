// Command random is the provider for random values, a WebAssembly module for Husk.
package main

import (
	"github.com/husk-dev/husk/examples/providers/random/provider"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

func main() { guest.Serve(provider.New()) }
