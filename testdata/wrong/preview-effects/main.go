// Command preview-effects is a provider of notes that breaks one rule. Its preview of Create makes the note.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	known := !request.Inputs.ContainsUnknowns()
	request.Preview = request.Preview && !known
	return p.Provider.Create(ctx, request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
