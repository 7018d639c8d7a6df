//go:build wasip1

// Command echopolicy is a module that serves canontest's echoing policy pack. It uses every
// interface of the host.
package main

import (
	"github.com/husk-dev/husk/abi/canon/canontest"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings/policy"
)

func init() {
	bindings.OnFirstCall(func() {
		policy.Serve(canontest.EchoPolicy{Host: canontest.Host{
			Log: bindings.Log(), Control: bindings.Control(), HTTP: bindings.HTTP(), TCP: bindings.TCP(),
			Files: bindings.Files(), Assets: bindings.Assets(), KV: bindings.KV(), Monitor: bindings.Monitor(),
		}})
	})
}

func main() {}
