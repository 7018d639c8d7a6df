// Command update is a provider of notes that breaks one rule. Its Update makes another note, with another ID.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Update(ctx context.Context, request abi.UpdateRequest) (abi.UpdateResponse, error) {
	if request.Preview {
		return p.Provider.Update(ctx, request)
	}
	err := p.Delete(ctx, abi.DeleteRequest{Type: request.Type, ID: request.ID})
	if err != nil {
		return abi.UpdateResponse{}, err
	}
	request.ID += "-updated"
	return p.Provider.Update(ctx, request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
