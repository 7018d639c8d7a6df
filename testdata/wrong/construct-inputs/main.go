// Command construct-inputs is a provider of notes that breaks one rule. Its component takes inputs that it does not have.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Construct(ctx context.Context, request abi.ConstructRequest) (abi.ConstructResponse, error) {
	if r := notes.Schema.Resource(request.Type); r != nil {
		for _, name := range request.Inputs.Keys() {
			if r.Inputs.Property(name) == nil {
				request.Inputs = request.Inputs.Without(name)
			}
		}
	}
	return p.Provider.Construct(ctx, request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
