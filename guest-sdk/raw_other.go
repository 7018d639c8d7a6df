//go:build !wasip1

package guest

import (
	"os"

	"github.com/husk-dev/husk/abi"
)

// ServeProvider serves a provider that implements the contract's methods itself, such
// as an adapter of one that was written for something else. It is called in main. In a
// program that is not a module there is no host: it prints how to build one, and exits
// with status 2.
func ServeProvider(abi.Provider) {
	os.Stderr.WriteString(rawUsage)
	os.Exit(2)
}
