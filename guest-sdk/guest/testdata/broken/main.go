// Broken is a provider whose author has forgotten a tag.
package main

import (
	"context"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

type Inputs struct {
	Name string
}

type State struct {
	Inputs
}

type Thing struct{}

func (Thing) Create(context.Context, guest.CreateRequest[Inputs]) (guest.CreateResponse[State], error) {
	return guest.CreateResponse[State]{ID: "x"}, nil
}

func main() {
	guest.Serve(guest.Provider{
		Name:      "broken",
		Version:   "1.0.0",
		Resources: []guest.Resource{guest.ResourceOf("broken:index:Thing", Thing{})},
	})
}
