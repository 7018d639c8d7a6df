// Command check-olds is a provider of notes that breaks one rule. Its Check makes up a default anew, though there is one in the old inputs.
package main

import (
	"context"
	"strconv"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	response, err := p.Provider.Check(ctx, request)
	if !request.News.Has("tags") && len(request.RandomSeed) > 0 {
		drawn := property.String(strconv.Itoa(int(request.RandomSeed[0])))
		tags := property.NewMap(property.Entry{Key: "number", Value: drawn})
		response.Inputs = response.Inputs.With("tags", property.Object(tags))
	}
	return response, err
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
