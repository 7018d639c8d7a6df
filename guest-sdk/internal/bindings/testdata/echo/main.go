//go:build wasip1

// Command echo is a module that serves canontest's echoing provider. It uses every
// interface of the host.
package main

import (
	"github.com/husk-dev/husk/abi/canon/canontest"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings/provider"
)

func init() {
	bindings.OnFirstCall(func() {
		provider.Serve(canontest.EchoProvider{Host: canontest.Host{
			Log: bindings.Log(), Control: bindings.Control(), HTTP: bindings.HTTP(), TCP: bindings.TCP(),
			Files: bindings.Files(), Assets: bindings.Assets(), KV: bindings.KV(), Monitor: bindings.Monitor(),
		}})
	})
}

func main() {}
