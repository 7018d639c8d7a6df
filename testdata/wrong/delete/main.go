// Command delete is a provider of notes that breaks one rule. Its Delete deletes nothing.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Delete(_ context.Context, request abi.DeleteRequest) error {
	_, err := p.Resource(request.Type)
	return err
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
