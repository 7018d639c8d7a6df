// Command module serves the test provider "zoo" as a module.
package main

import (
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/internal/testprovider"
)

func main() { guest.Serve(testprovider.Provider()) }
