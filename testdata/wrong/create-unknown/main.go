// Command create-unknown is a provider of notes that breaks one rule. Its state has an unknown though the note exists.
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
	response.State = response.State.With("words", property.Unknown)
	return response, err
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
