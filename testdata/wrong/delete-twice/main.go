// Command delete-twice is a provider of notes that breaks one rule. Its Delete fails where there is nothing to delete.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Delete(ctx context.Context, request abi.DeleteRequest) error {
	found, err := p.Read(ctx, abi.ReadRequest{Type: request.Type, ID: request.ID})
	if err == nil && found.ID == "" {
		return abi.NewError(abi.ErrorKindInternal, "there is no note "+request.ID)
	}
	if err != nil {
		return err
	}
	return p.Provider.Delete(ctx, request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
