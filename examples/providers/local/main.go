// Command local is the provider for files and directories: a WebAssembly module for
// Husk. What it does is in package provider.
package main

import (
	"github.com/husk-dev/husk/examples/providers/local/provider"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

func main() { guest.Serve(provider.New()) }
