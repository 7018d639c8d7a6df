// Command check-defaults is a provider of notes that breaks one rule. Its Check does not apply a default that its schema declares.
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
	if !request.News.Has("copies") {
		response.Inputs = response.Inputs.Without("copies")
	}
	return response, err
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
