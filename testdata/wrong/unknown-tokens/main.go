// Command unknown-tokens is a provider of notes that breaks one rule. It takes every type for a note.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	request.Type = notes.Note
	return p.Provider.Check(ctx, request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
