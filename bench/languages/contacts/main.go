// Command contacts is the provider of examples/contacts in Go, for bench/languages.
package main

import (
	"github.com/husk-dev/husk/examples/contacts/provider"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

func main() { guest.Serve(provider.New()) }
