// Command update-settles is a provider of notes that breaks one rule. Its Update does not change the text.
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
	if _, err := p.Resource(request.Type); err != nil {
		return abi.UpdateResponse{}, err
	}
	state := notes.State(request.News.With("text", request.Olds.Get("text")))
	return abi.UpdateResponse{State: state}, p.Write(request.ID, request.News, state)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
