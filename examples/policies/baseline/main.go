// Command baseline is a policy pack with common rules, a WebAssembly module for Husk.
package main

import (
	"github.com/husk-dev/husk/examples/policies/baseline/pack"
	"github.com/husk-dev/husk/guest-sdk/policy"
)

func main() { policy.Serve(pack.New()) }
