// Command check-unknown-property is a provider of notes that breaks one rule. Its Check drops properties that it does not know.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	if r, err := p.Resource(request.Type); err == nil {
		for _, name := range request.News.Keys() {
			if r.Inputs.Property(name) == nil {
				request.News = request.News.Without(name)
			}
		}
	}
	return p.Provider.Check(ctx, request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
