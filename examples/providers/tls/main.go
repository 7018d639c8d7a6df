// Command tls is the provider for private keys and certificates, a WebAssembly module for Husk.
package main

import (
	"github.com/husk-dev/husk/examples/providers/tls/provider"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

func main() { guest.Serve(provider.New()) }
