// Command configure-unknowns is a provider of notes that breaks one rule. It cannot be configured before everything is known.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Configure(ctx context.Context, request abi.ConfigureRequest) error {
	if request.Inputs.Get("reader").IsUnknown() {
		return abi.NewError(abi.ErrorKindInvalidArgument, "who reads the notes?")
	}
	return p.Provider.Configure(ctx, request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
