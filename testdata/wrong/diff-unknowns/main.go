// Command diff-unknowns is a provider of notes that breaks one rule. Its Diff takes what is not known for unchanged.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Diff(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	for _, name := range request.News.Keys() {
		if request.News.Get(name).IsUnknown() {
			request.News = request.News.With(name, request.OldInputs.Get(name))
		}
	}
	return p.Provider.Diff(ctx, request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
