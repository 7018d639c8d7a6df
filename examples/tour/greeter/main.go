// Command greeter is a provider beside the program that uses it. Husk builds it from source, and keeps
// the module beside the state.
package main

import (
	"context"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

const greeting = "Welcome to the shop of "

// SignInputs are a sign's.
type SignInputs struct {
	Name string `husk:"name" doc:"Whose shop it is."`
}

// SignState is a sign's.
type SignState struct {
	SignInputs
	Text string `husk:"text" doc:"What the sign says."`
}

// Sign is a text on a door.
type Sign struct{}

// Create paints a sign.
func (Sign) Create(_ context.Context, r guest.CreateRequest[SignInputs]) (guest.CreateResponse[SignState], error) {
	return guest.CreateResponse[SignState]{ID: "sign", State: SignState{r.Inputs, greeting + r.Inputs.Name}}, nil
}

// Update paints it anew.
func (Sign) Update(_ context.Context, r guest.UpdateRequest[SignInputs, SignState]) (guest.UpdateResponse[SignState], error) {
	return guest.UpdateResponse[SignState]{State: SignState{r.Inputs, greeting + r.Inputs.Name}}, nil
}

func main() {
	guest.Serve(guest.Provider{
		Name: "greeter", Version: "0.1.0", Description: "Signs on doors.",
		Resources: []guest.Resource{guest.ResourceOf("greeter:index:Sign", Sign{})},
	})
}
