// Command preview-effects-update is a provider of notes that breaks one rule. Its preview of Update writes the note.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Update(ctx context.Context, request abi.UpdateRequest) (abi.UpdateResponse, error) {
	request.Preview = false
	return p.Provider.Update(ctx, request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
