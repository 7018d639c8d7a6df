package provider

import (
	"context"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

type stringState struct {
	textInputs
	Result string `husk:"result" doc:"The string."`
}

// String is the resource RandomString.
type String struct{ text }

// Create draws the string.
func (String) Create(_ context.Context, r guest.CreateRequest[textInputs]) (guest.CreateResponse[stringState], error) {
	result, err := r.Inputs.generate()
	if err != nil {
		return guest.CreateResponse[stringState]{}, err
	}
	return guest.CreateResponse[stringState]{ID: result, State: stringState{r.Inputs, result}}, nil
}

// Read takes the ID for the string.
func (String) Read(_ context.Context, r guest.ReadRequest[textInputs, stringState]) (guest.ReadResponse[textInputs, stringState], error) {
	if response, ok := recorded(r); ok {
		return response, nil
	}
	inputs := imported(r.ID)
	return guest.ReadResponse[textInputs, stringState]{Inputs: inputs, State: stringState{inputs, r.ID}}, nil
}
