// Command diff-self is a provider of notes that breaks one rule. Its Diff finds changes where there are none.
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
	if len(response.DetailedDiff) == 0 && request.Type == notes.Note && len(request.IgnoreChanges) == 0 {
		response.Changes = abi.DiffChangesSome
		response.DetailedDiff = []abi.PropertyDiff{{Path: "text", Kind: abi.DiffKindUpdate}}
		response.ChangedKeys = []string{"text"}
	}
	return response, err
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
