// Command preview-agrees is a provider of notes that breaks one rule. Its preview claims to know what it does not.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	response, err := p.Provider.Create(ctx, request)
	if request.Preview {
		response.State = response.State.With("words", property.Number(0))
	}
	return response, err
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
