// Command check-range is a provider of notes that breaks one rule. Its Check puts a number into its bounds that is outside of them.
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
	if copies, ok := request.News.Get("copies").AsNumber(); ok && copies > 9 {
		request.News = request.News.With("copies", property.Number(9))
	}
	return p.Provider.Check(ctx, request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
