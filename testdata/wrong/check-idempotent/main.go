// Command check-idempotent is a provider of notes that breaks one rule. Its Check adds to what it has added to before.
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
	if text, ok := response.Inputs.Get("text").AsString(); ok {
		response.Inputs = response.Inputs.With("text", property.String(text+"."))
	}
	return response, err
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
