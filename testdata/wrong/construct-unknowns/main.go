// Command construct-unknowns is a provider of notes that breaks one rule. Its component cannot be previewed before its title is known.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Construct(ctx context.Context, request abi.ConstructRequest) (abi.ConstructResponse, error) {
	if request.Inputs.Get("title").IsUnknown() {
		return abi.ConstructResponse{}, abi.NewError(abi.ErrorKindInvalidArgument, "a pad needs a title")
	}
	return p.Provider.Construct(ctx, request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
