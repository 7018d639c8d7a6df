// Command check-secrets is a provider of notes that breaks one rule. Its Check forgets that an input is secret.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	response, err := p.Provider.Check(ctx, request)
	if text, ok := response.Inputs.Lookup("text"); ok {
		response.Inputs = response.Inputs.With("text", text.Plain())
	}
	return response, err
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
