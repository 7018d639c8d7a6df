// Command sdkpeer is the provider of the benchmarks as a native process, made with Pulumi's
// SDK as its providers in Go are. It is a Go module of its own, since that SDK links some
// sixty others.
package main

import (
	"fmt"
	"os"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/provider"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"

	"github.com/husk-dev/husk/bench/internal/peer"
	record "github.com/husk-dev/husk/bench/record/provider"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

func main() {
	err := provider.Main("record", func(*provider.HostClient) (pulumirpc.ResourceProviderServer, error) {
		served := record.New()
		p, err := guest.New(served)
		if err != nil {
			return nil, err
		}
		return peer.NewServer(p, served.Version), nil
	})
	if err != nil {
		fmt.Fprintf(os.Stderr, "sdkpeer: %v\n", err)
		os.Exit(1)
	}
}
