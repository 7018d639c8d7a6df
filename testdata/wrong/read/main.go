// Command read is a provider of notes that breaks one rule. Its Read finds another state than Create answered.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Read(ctx context.Context, request abi.ReadRequest) (abi.ReadResponse, error) {
	response, err := p.Provider.Read(ctx, request)
	if response.ID != "" {
		response.State = response.State.With("words", property.Number(1000))
	}
	return response, err
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
