// Command record is the provider that the benchmarks call, as a WebAssembly module. Package provider has its code.
package main

import (
	"github.com/husk-dev/husk/bench/record/provider"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

func main() { guest.Serve(provider.New()) }
