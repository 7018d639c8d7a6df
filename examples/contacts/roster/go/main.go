// Command go is the program roster as a module.
package main

import (
	"github.com/husk-dev/husk/examples/contacts/roster"
	"github.com/husk-dev/husk/guest-sdk/program"
)

func main() { program.Run(roster.Declare) }
