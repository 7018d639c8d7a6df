// Command baseline is a policy pack with rules that most houses have: a WebAssembly
// module for Husk. What it demands is in package pack.
package main

import (
	"github.com/husk-dev/husk/examples/policies/baseline/pack"
	"github.com/husk-dev/husk/guest-sdk/policy"
)

func main() { policy.Serve(pack.New()) }
