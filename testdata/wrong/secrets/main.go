// Command secrets is a provider of notes that breaks one rule. Its state has a secret in plain.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	response, err := p.Provider.Create(ctx, request)
	if pin, ok := response.State.Lookup("pin"); ok {
		response.State = response.State.With("pin", pin.Plain())
	}
	return response, err
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
