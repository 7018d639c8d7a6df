// Minimal is the smallest provider: the one in the package's documentation.
package main

import (
	"context"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

type GreetingInputs struct {
	Name string `husk:"name,replace" doc:"Who is greeted."`
	Mark string `husk:"mark,default=!,oneof=!|?|." doc:"What the greeting ends with."`
}

type GreetingState struct {
	GreetingInputs
	Text string `husk:"text" doc:"The greeting."`
}

type Greeting struct{}

func (Greeting) Create(_ context.Context, r guest.CreateRequest[GreetingInputs]) (guest.CreateResponse[GreetingState], error) {
	state := GreetingState{r.Inputs, "Hello, " + r.Inputs.Name + r.Inputs.Mark}
	return guest.CreateResponse[GreetingState]{ID: r.Name, State: state}, nil
}

func main() {
	guest.Serve(guest.Provider{
		Name:      "greet",
		Version:   "1.0.0",
		Resources: []guest.Resource{guest.ResourceOf("greet:index:Greeting", Greeting{})},
	})
}
