// Command peer is a provider as a native process, which the benchmarks compare modules
// with. They start it; see [github.com/husk-dev/husk/bench/internal/peer].
//
//	peer random|record
package main

import (
	"fmt"
	"os"

	"github.com/husk-dev/husk/bench/internal/peer"
	record "github.com/husk-dev/husk/bench/record/provider"
	random "github.com/husk-dev/husk/examples/providers/random/provider"
	guest "github.com/husk-dev/husk/guest-sdk"
)

func main() {
	if err := serve(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "peer: %v\n", err)
		os.Exit(1)
	}
}

func serve(args []string) error {
	var served guest.Provider
	switch {
	case len(args) == 1 && args[0] == "random":
		served = random.New()
	case len(args) == 1 && args[0] == "record":
		served = record.New()
	default:
		return fmt.Errorf("usage: peer random|record")
	}
	provider, err := guest.New(served)
	if err != nil {
		return err
	}
	return peer.Serve(provider, served.Version, os.Stdout)
}
