// Command check-unknowns is a provider of notes that breaks one rule. Its Check takes what is not known for empty.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	response, err := p.Provider.Check(ctx, request)
	if response.Inputs.Get("text").IsUnknown() {
		response.Inputs = response.Inputs.With("text", property.String(""))
	}
	return response, err
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
