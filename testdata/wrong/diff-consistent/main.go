// Command diff-consistent is a provider of notes that breaks one rule. Its Diff has every path twice.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Diff(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	response, err := p.Provider.Diff(ctx, request)
	response.DetailedDiff = append(response.DetailedDiff, response.DetailedDiff...)
	return response, err
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
