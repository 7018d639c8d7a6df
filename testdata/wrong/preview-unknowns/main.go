// Command preview-unknowns is a provider of notes that breaks one rule. Its preview takes what is not known for empty.
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
	if request.Inputs.Get("text").IsUnknown() {
		request.Inputs = request.Inputs.With("text", property.String(""))
	}
	return p.Provider.Create(ctx, request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
