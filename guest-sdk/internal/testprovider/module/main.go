// Command module serves the test provider "zoo" as a module.
package main

import (
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/guest-sdk/internal/testprovider"
)

func main() { guest.Serve(testprovider.Provider()) }
