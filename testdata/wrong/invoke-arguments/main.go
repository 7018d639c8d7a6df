// Command invoke-arguments is a provider of notes that breaks one rule. Its function takes arguments that it does not have.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Invoke(ctx context.Context, request abi.InvokeRequest) (abi.InvokeResponse, error) {
	if f := notes.Schema.Function(request.Token); f != nil {
		for _, name := range request.Args.Keys() {
			if f.Args.Property(name) == nil {
				request.Args = request.Args.Without(name)
			}
		}
	}
	return p.Provider.Invoke(ctx, request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
