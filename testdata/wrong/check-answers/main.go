// Command check-answers is a provider of notes that breaks one rule. Its Check answers a number as text.
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
	response, err := p.Provider.Check(ctx, request)
	if request.Olds == nil && !request.News.Has("copies") {
		response.Inputs = response.Inputs.With("copies", property.String("1"))
	}
	return response, err
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
