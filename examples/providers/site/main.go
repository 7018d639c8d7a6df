// Command site is a provider of components, a WebAssembly module for Husk.
package main

import (
	"github.com/husk-dev/husk/examples/providers/site/provider"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

func main() { guest.Serve(provider.New()) }
