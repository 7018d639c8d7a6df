// Command list is a provider of notes that breaks one rule. Its List is empty.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (provider) List(context.Context, abi.ListRequest) (abi.ListResponse, error) {
	return abi.ListResponse{}, nil
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
