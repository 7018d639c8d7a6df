// Command update-read is a provider of notes that breaks one rule. Its Update answers what it does not do.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Update(ctx context.Context, request abi.UpdateRequest) (abi.UpdateResponse, error) {
	request.Preview = true
	return p.Provider.Update(ctx, request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
