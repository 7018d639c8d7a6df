// Command construct-secrets is a provider of notes that breaks one rule. Its component forgets that an input is secret.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Construct(ctx context.Context, request abi.ConstructRequest) (abi.ConstructResponse, error) {
	request.Inputs = request.Inputs.Unwrap()
	return p.Provider.Construct(ctx, request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
