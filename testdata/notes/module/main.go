// Command module is the provider of notes as a module.
package main

import (
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

func main() { guest.ServeProvider(notes.New()) }
