// Command diff-replace is a provider of notes that breaks one rule. Its Diff updates where its schema says that it replaces.
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
	for i := range response.DetailedDiff {
		if response.DetailedDiff[i].Kind == abi.DiffKindUpdateReplace {
			response.DetailedDiff[i].Kind = abi.DiffKindUpdate
		}
	}
	response.ReplaceKeys = nil
	return response, err
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
