// Command hostile-inputs is a provider of notes that breaks one rule. Its Diff crashes on a state that it has not made.
package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	guest "github.com/husk-dev/husk/guest-sdk"
	"github.com/husk-dev/husk/testdata/notes"
)

type provider struct{ *notes.Provider }

func (p provider) Diff(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	if copies, given := request.Olds.Lookup("copies"); given {
		f, ok := copies.Plain().AsNumber()
		if !ok {
			panic("copies is no number")
		}
		_ = make([]struct{}, int(f))
	}
	return p.Provider.Diff(ctx, request)
}

func main() { guest.ServeProvider(provider{Provider: notes.New()}) }
