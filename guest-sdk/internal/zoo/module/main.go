// The zoo as a module.
package main

import (
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/guest-sdk/internal/zoo"
)

func main() { guest.Serve(zoo.Provider()) }
