//go:build wasip1

// Command echoprogram is a module that serves canontest's echoing program. It uses every
// interface of the host.
package main

import (
	"github.com/husk-dev/husk/abi/canon/canontest"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
	"github.com/husk-dev/husk/guest-sdk/internal/bindings/program"
)

func init() {
	bindings.OnFirstCall(func() {
		program.Serve(canontest.EchoProgram{Host: canontest.Host{
			Log: bindings.Log(), Control: bindings.Control(), HTTP: bindings.HTTP(), TCP: bindings.TCP(),
			Files: bindings.Files(), Assets: bindings.Assets(), KV: bindings.KV(), Monitor: bindings.Monitor(),
		}})
	})
}

func main() {}
