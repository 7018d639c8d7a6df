// Command check-wrong-type is a provider of notes that breaks one rule. Its Check drops lines that are none.
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
	switch request.News.Get("lines").Plain().Kind() {
	case property.KindArray, property.KindUnknown:
	default:
		request.News = request.News.Without("lines")
	}
	return p.Provider.Check(ctx, request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
