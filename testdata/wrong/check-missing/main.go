// Command check-missing is a provider of notes that breaks one rule. Its Check makes up what is required.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	if !request.News.Has("title") {
		request.News = request.News.With("title", property.String("untitled"))
	}
	return p.Provider.Check(ctx, request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
