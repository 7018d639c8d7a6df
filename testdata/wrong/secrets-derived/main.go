// Command secrets-derived is a provider of notes that breaks one rule. Its state repeats a secret within another property.
package main

import (
	"github.com/husk-dev/husk/abi/property"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

// state labels a note with its secret.
func state(inputs property.Map) property.Map {
	pin, _ := inputs.Get("pin").Plain().AsString()
	return notes.State(inputs).With("label", property.String("opens with "+pin))
}

func main() {
	p := notes.New()
	p.State = state
	guest.ServeProvider(p)
}
