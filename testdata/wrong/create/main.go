// Command create is a provider of notes that breaks one rule. Its Create answers no ID.
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
	response.ID = ""
	return response, err
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
