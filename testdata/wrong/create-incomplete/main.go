// Command create-incomplete is a provider of notes that breaks one rule. Its state lacks what the schema says is always there.
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
	response.State = response.State.Without("words")
	return response, err
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
