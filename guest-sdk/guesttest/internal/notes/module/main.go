// Command module is package notes' provider as a module.
package main

import (
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/guest-sdk/guesttest/internal/notes"
)

func main() { guest.Serve(notes.Provider(notes.Right)) }
