// Command read-import is a provider of notes that breaks one rule. Its Read tells no inputs to an import.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Read(ctx context.Context, request abi.ReadRequest) (abi.ReadResponse, error) {
	response, err := p.Provider.Read(ctx, request)
	if request.State == nil {
		response.Inputs = nil
	}
	return response, err
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
