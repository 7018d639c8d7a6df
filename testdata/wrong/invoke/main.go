// Command invoke is a provider of notes that breaks one rule. Its function answers less than its schema says.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Invoke(ctx context.Context, request abi.InvokeRequest) (abi.InvokeResponse, error) {
	response, err := p.Provider.Invoke(ctx, request)
	response.Result = response.Result.Without("words")
	return response, err
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
