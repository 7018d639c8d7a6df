// Command local is the provider for files and directories, a WebAssembly module for Husk.
package main

import (
	"github.com/husk-dev/husk/examples/providers/local/provider"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

func main() { guest.Serve(provider.New()) }
