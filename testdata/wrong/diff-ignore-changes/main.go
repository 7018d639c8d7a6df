// Command diff-ignore-changes is a provider of notes that breaks one rule. Its Diff does not ignore what it is told to.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Diff(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	request.IgnoreChanges = nil
	return p.Provider.Diff(ctx, request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
