// Command peer is the provider of the benchmarks as a native process, which they compare
// its module with. They start it; see [github.com/husk-dev/husk/bench/internal/peer].
package main

import (
	"fmt"
	"os"

	"github.com/husk-dev/husk/bench/internal/peer"
	record "github.com/husk-dev/husk/bench/record/provider"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

func main() {
	served := record.New()
	provider, err := guest.New(served)
	if err == nil {
		err = peer.Serve(provider, served.Version, os.Stdout)
	}
	fmt.Fprintf(os.Stderr, "peer: %v\n", err)
	os.Exit(1)
}
